#include "dispatch.hpp"

#include <cstdlib>
#include <stdexcept>

namespace misnomer {

namespace {

const Kernels &choose() {
    const auto usable = usable_kernels();
    const char *forced = std::getenv("MISNOMER_SIMD");
    if (forced == nullptr || *forced == '\0') return *usable.back();
    std::string names;
    for (const Kernels *kernels : usable) {
        if (std::string(forced) == kernels->variant) return *kernels;
        names += (names.empty() ? "" : ", ") + std::string(kernels->variant);
    }
    throw std::invalid_argument("MISNOMER_SIMD=" + std::string(forced) +
                                " cannot be used here; choose one of: " + names + ".");
}

}  // namespace

std::vector<const Kernels *> usable_kernels() {
    std::vector<const Kernels *> usable{&baseline::kernels()};
#if defined(MISNOMER_WITH_AVX2) || defined(MISNOMER_WITH_AVX512)
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("bmi2");
#endif
#ifdef MISNOMER_WITH_AVX2
    if (has_avx2) usable.push_back(&avx2::kernels());
#endif
#ifdef MISNOMER_WITH_AVX512
    if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        usable.push_back(&avx512::kernels());
#endif
    return usable;
}

const Kernels &chosen_kernels() {
    static const Kernels &chosen = choose();
    return chosen;
}

}  // namespace misnomer
