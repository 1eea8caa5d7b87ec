"""Measuring a PyTorch module layer by layer, on the GPU if there is one, else on the CPU.

A layer is one call of a module that calls no other module. One forward pass records these calls:
inputs, outputs, and the layers whose outputs reach an input, found in the graph of autograd, so
that operations between modules (additions, reshaping) connect layers but their time is not counted.
Each layer is then run alone, forward and backward; the medians of several runs count. A module that
is called repeatedly is a layer each time; its parameters count at the first. Parameters of modules
that call others are not counted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from optsched.errors import InputError, one_line, require_extras, shown
from optsched.profiles.profile import Layer, LayerProfile

WARM_UPS = 2
"""Runs of each layer before those that count."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _Call:
    """One call of a module that calls no other, and the positions of the layers that it reads."""

    name: str
    module: Any
    inputs: tuple[Any, dict[str, Any]]
    output_bytes: int
    sources: tuple[int, ...]


def profile_module(
    module: Any, example: Any, *, repeats: int = 10, progress: Progress | None = None
) -> LayerProfile:
    """Time the forward and backward passes of each layer of a PyTorch module.

    `example` is the input of one mini-batch: a tensor, a tuple of positional or a mapping of named
    arguments. Raises InputError if the module is none or fails on it.
    """
    require_extras(["torch"])
    import torch

    if not isinstance(module, torch.nn.Module):
        raise InputError("profile", "module", shown(module), "a torch.nn.Module")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = type(module).__name__
    try:
        module.to(device)
        calls = _calls(module, _mapped(example, lambda tensor: tensor.to(device)))
        layers: list[Layer] = []
        seen: set[int] = set()
        for position, call in enumerate(calls):
            parameters = {id(each): each for each in call.module.parameters()}
            sizes = [_bytes(each) for key, each in parameters.items() if key not in seen]
            seen |= parameters.keys()
            times = [_times(call, device) for _ in range(WARM_UPS + repeats)][WARM_UPS:]
            forward, backward = map(statistics.median, zip(*times, strict=True))
            layers.append(Layer(call.name, forward, backward, call.output_bytes, sum(sizes)))
            if progress is not None:
                progress(position + 1, len(calls))
    except Exception as error:  # of the module's own code
        found = one_line(f"{type(error).__name__}: {error}")[:160]
        raise InputError("profile", name, found, "a module that runs on its example") from None
    if not layers:
        raise InputError("profile", name, "no modules that it calls", "a module with layers")
    first = next(module.parameters(), torch.empty(0))
    return LayerProfile(
        name,
        tuple(layers),
        tuple((u, v) for v, call in enumerate(calls) for u in call.sources),
        {"source": f"PyTorch {torch.__version__}", "device": str(device), "repeats": repeats},
        bytes_per_number=first.element_size(),
    )


def _calls(module: Any, example: Any) -> list[_Call]:
    """Run the module once; return the calls that call no other module, in order."""
    import torch

    calls: list[_Call] = []
    layer_of: dict[Any, int] = {}  # by node of the graph of autograd; keys keep the nodes alive
    names = {each: name for name, each in module.named_modules()}
    calls_others: list[bool] = []  # of each module that is being called

    def enter(layer: Any, args: Any) -> None:
        if calls_others:
            calls_others[-1] = True
        calls_others.append(False)

    def record(layer: Any, args: Any, kwargs: Any, output: Any) -> None:
        if calls_others.pop():
            return
        found = {u for tensor in _tensors((args, kwargs)) for u in _sources(tensor, layer_of)}
        sources = sorted(found) or ([len(calls) - 1] if calls else [])
        for tensor in _tensors(output):
            if tensor.grad_fn is not None:
                layer_of[tensor.grad_fn] = len(calls)
        size = sum(map(_bytes, _tensors(output)))
        title = f"{names[layer]} {type(layer).__name__}".strip()
        inputs = _mapped((args, kwargs), lambda tensor: tensor.detach())
        calls.append(_Call(title, layer, inputs, size, tuple(sources)))

    hooks = [each.register_forward_pre_hook(enter) for each in names]
    hooks += [each.register_forward_hook(record, with_kwargs=True) for each in names]
    try:
        with torch.enable_grad():
            if isinstance(example, Mapping):
                module(**example)
            else:
                module(*(example if isinstance(example, tuple) else (example,)))
    finally:
        for hook in hooks:
            hook.remove()
    return calls


def _sources(tensor: Any, layer_of: Mapping[Any, int]) -> Iterator[int]:
    """Yield the layers whose outputs reach a tensor without passing through another layer."""
    pending, visited = [tensor.grad_fn], set()
    while pending:
        node = pending.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        if node in layer_of:
            yield layer_of[node]
        else:
            pending += [following for following, _ in node.next_functions]


def _times(call: _Call, device: Any) -> tuple[float, float]:
    """Return the seconds of a layer's forward and backward pass."""
    import torch

    def clock() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    inputs = _mapped(call.inputs, lambda each: each.requires_grad_(each.is_floating_point()))
    args, kwargs = _mapped(inputs, lambda each: each.clone())  # for operations in place
    with torch.enable_grad():
        began = clock()
        output = call.module(*args, **kwargs)
        forward = clock() - began
    outputs = [each for each in _tensors(output) if each.requires_grad]
    wanted = [each for each in _tensors(inputs) if each.requires_grad]
    wanted += [each for each in call.module.parameters() if each.requires_grad]
    if not outputs or not wanted:
        return forward, 0.0
    ones = [torch.ones_like(each) for each in outputs]
    began = clock()
    torch.autograd.grad(outputs, wanted, ones, allow_unused=True)
    return forward, clock() - began


def _tensors(value: Any) -> list[Any]:
    """Return the tensors in nested tuples, lists and mappings."""
    tensors: list[Any] = []
    _mapped(value, tensors.append)
    return tensors


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to the tensors in nested tuples, lists and mappings."""
    import torch

    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, Mapping):
        return {key: _mapped(item, function) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_mapped(item, function) for item in value)
    return value


def _bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())
