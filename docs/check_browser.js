// Measure the pages of a site, each in an iframe; `check_browser.py` serves this file and takes the results.
// PAGES, WIDTHS and THEMES are set by the page that loads it.

const AT_ONCE = 3;
const SLACK = 1.5; // px: rounding of widths
const BOXES = ["pre", "table", "mjx-container", "img", "svg", "h1", "h2", "h3", "dt"]
  .map(tag => `.bd-article ${tag}`)
  .join(", ");

function described(element) {
  const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
  return `${element.tagName.toLowerCase()} ${text || element.getAttribute("src") || ""}`;
}

// The boxes around an element, itself first, that have a horizontal scroll bar of their own.
function scrollers(element, column, view) {
  const boxes = [];
  for (let box = element; box && box !== column; box = box.parentElement)
    if (/auto|scroll/.test(view.getComputedStyle(box).overflowX)) boxes.push(box);
  return boxes;
}

// What of an element nobody can see, not even by scrolling its box.
function* hidden(element, column, view) {
  const own = element.getBoundingClientRect();
  const style = view.getComputedStyle(element);
  if (!own.width || style.visibility === "hidden") return;
  const boxes = scrollers(element, column, view);
  const edge = column.getBoundingClientRect();
  const seen = (boxes.at(-1) || element).getBoundingClientRect();
  if (seen.right > edge.right + SLACK || seen.left < edge.left - SLACK) yield "leaves its column";
  const below = element.scrollHeight > element.clientHeight + SLACK;
  if (boxes[0] === element && /hidden|clip/.test(style.overflowY) && below) yield "cut off below";
  const copy = element.querySelector("mjx-assistive-mml"); // invisible, for screen readers
  const wider = element.clientWidth && element.scrollWidth > element.clientWidth + SLACK;
  if (!boxes.length && !copy && wider) yield "wider than its box";
  for (let up = element.parentElement; up && up !== column && up !== boxes[0]; up = up.parentElement) {
    const around = up.getBoundingClientRect();
    const rule = view.getComputedStyle(up);
    if (/hidden|clip/.test(rule.overflowX) && own.right > around.right + SLACK) yield "cut off at the right";
    if (/hidden|clip/.test(rule.overflowY) && own.bottom > around.bottom + SLACK) yield "cut off below";
  }
}

function unreadable(element, view) {
  const background = box => view.getComputedStyle(box).backgroundColor;
  let box = element;
  while (box && background(box) === "rgba(0, 0, 0, 0)") box = box.parentElement;
  return box && background(box) === view.getComputedStyle(element).color;
}

function faults(view) {
  const page = view.document;
  const column = page.querySelector(".bd-article-container");
  const found = [];
  for (const box of [page.scrollingElement, column])
    if (box.scrollWidth > box.clientWidth + SLACK) {
      const right = element => element.getBoundingClientRect().right;
      const beyond = [...column.querySelectorAll("*")].filter(
        element => right(element) > right(column) + SLACK && !scrollers(element, column, view).length,
      );
      const cause = beyond.length ? described(beyond.at(-1)) : "unknown";
      found.push(`scrolls sideways, ${box.scrollWidth} of ${box.clientWidth} px: ${cause}`);
    }
  for (const element of page.querySelectorAll(BOXES))
    for (const fault of hidden(element, column, view)) found.push(`${fault}: ${described(element)}`);
  const alike = new Map(); // one element of each kind and place, since long tables have thousands
  for (const element of page.querySelectorAll(".bd-article :is(p, td, th, pre, code)"))
    alike.set(`${element.tagName} ${element.className} ${element.parentElement.className}`, element);
  for (const element of alike.values())
    if (unreadable(element, view)) found.push(`text in the colour of its background: ${described(element)}`);
  return [...new Set(found)];
}

async function measured(address) {
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.style.cssText = `width: ${WIDTHS[0]}px; height: 900px; border: 0`;
  await new Promise(loaded => {
    frame.onload = loaded;
    frame.src = address;
  });
  const view = frame.contentWindow;
  const page = view.document;
  const results = [];
  if (page.querySelector(".bd-article-container")) {
    if (view.MathJax?.startup) await view.MathJax.startup.promise;
    await page.fonts.ready;
    for (const image of page.images) image.loading = "eager";
    await Promise.all([...page.images].map(image => image.decode().catch(() => 0)));
    for (const closed of page.querySelectorAll(".bd-article details")) closed.open = true;
    for (const width of WIDTHS) {
      frame.style.width = `${width}px`;
      for (const theme of THEMES) {
        page.documentElement.dataset.theme = page.documentElement.dataset.mode = theme;
        await new Promise(done => view.setTimeout(done, 30));
        const column = page.querySelector(".bd-article-container").clientWidth;
        results.push({ address, width, theme, column, faults: faults(view) });
      }
    }
  }
  frame.remove();
  return results;
}

async function main() {
  const waiting = [...PAGES];
  const results = [];
  const worker = async () => {
    while (waiting.length) {
      const address = waiting.shift();
      try {
        results.push(...(await measured(address)));
      } catch (error) {
        results.push({ address, width: 0, theme: "-", column: 0, faults: [`not measured: ${error}`] });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  await fetch("/results", { method: "POST", body: JSON.stringify(results) });
}

main();
