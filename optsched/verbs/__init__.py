"""Operations on every problem: compare, explain, generate, plot, export."""
