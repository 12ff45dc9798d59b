#include "pooled.hpp"

#include <string>
#include <vector>

#include "dispatch.hpp"
#include "module_parts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace misnomer {

namespace {

template <class T, int Dimensions>
using View = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

double run(const PooledCall &call) {
    [[maybe_unused]] const std::string variant = chosen_kernels().variant;
#ifdef MISNOMER_WITH_AVX512
    if (variant == "avx512") return avx512::pooled(call);
#endif
#ifdef MISNOMER_WITH_AVX2
    if (variant == "avx2") return avx2::pooled(call);
#endif
    return baseline::pooled(call);
}

// The derivatives are left out where there is no room for them.
double pooled(const View<const double, 2> &scores,
              const std::optional<View<const double, 2>> &contrast,
              const View<const std::int32_t, 1> &codes, const View<const double, 1> &weight,
              const View<const double, 2> &table, double scale, double mix,
              const View<const double, 1> &bias, const View<double, 2> &joint,
              const View<double, 1> &size, const std::optional<View<double, 1>> &rest) {
    const int classes = static_cast<int>(scores.shape(0));
    std::vector<double> space(pooled_space(classes, chosen_kernels().lanes));
    PooledCall call{static_cast<Index>(scores.shape(1)), classes, scores.data(),
                    contrast ? contrast->data() : nullptr, codes.data(), weight.data(),
                    table.data(), bias.data(), scale, mix, space.data(), joint.data(),
                    size.data(), nullptr, nullptr, nullptr, nullptr};
    if (rest) {
        call.cross = rest->data();
        call.first = call.cross + classes * classes;
        call.mean = call.first + 2 * classes;
        call.held = call.mean + 2 * classes;
    }
    nb::gil_scoped_release released;
    return run(call);
}

}  // namespace

void add_pooled(nb::module_ &m) {
    m.def("pooled", &pooled, "scores"_a.noconvert(), "contrast"_a.noconvert().none(),
          "codes"_a.noconvert(), "weight"_a.noconvert(), "table"_a.noconvert(), "scale"_a, "mix"_a,
          "bias"_a.noconvert(), "joint"_a.noconvert(), "size"_a.noconvert(),
          "rest"_a.noconvert().none());
}

}  // namespace misnomer
