// Which instruction set to use on this processor.
#pragma once

#include <string>
#include <vector>

#include "kernels.hpp"

namespace misnomer {

// The variants that this build contains and this processor runs, slowest first.
std::vector<const Kernels *> usable_kernels();

// The fastest usable variant, or the one named by MISNOMER_SIMD.
// Decided once; throws std::invalid_argument where that name is not usable.
const Kernels &chosen_kernels();

}  // namespace misnomer
