// Marks for the optimiser. A rare path that is inlined makes the hot one save registers for it; at
// some hundred instructions per I/O that is measurable (ci/bench drop-in, instr/*).
#pragma once

#define SLUICE_COLD [[gnu::noinline, gnu::cold]]
#define SLUICE_NOINLINE [[gnu::noinline]]
#define SLUICE_INLINE [[gnu::always_inline]] inline
