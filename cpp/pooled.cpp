#include "pooled.hpp"

#include <string>
#include <vector>

#include "dispatch.hpp"
#include "pooled_module.hpp"

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

double pooled(const View<const double, 2> &scores,
              const std::optional<View<const double, 2>> &contrast,
              const View<const std::int32_t, 1> &codes, const View<const double, 1> &weight,
              const View<const double, 2> &table, double scale, double mix,
              const View<const double, 1> &bias, const View<double, 2> &joint,
              const View<double, 1> &rest) {
    const int classes = static_cast<int>(scores.shape(0));
    std::vector<double> tile(static_cast<std::size_t>(pooled_tiles(classes)) * tile_rows);
    double *size = rest.data(), *cross = size + classes, *first = cross + classes * classes;
    double *mean = first + 2 * classes, *held = mean + 2 * classes;
    const PooledCall call{static_cast<Index>(scores.shape(1)), classes, scores.data(),
                          contrast ? contrast->data() : nullptr, codes.data(), weight.data(),
                          table.data(), bias.data(), scale, mix, tile.data(), joint.data(), size,
                          cross, first, mean, held};
    nb::gil_scoped_release released;
    return run(call);
}

}  // namespace

void add_pooled(nb::module_ &m) {
    m.def("pooled", &pooled, "scores"_a.noconvert(), "contrast"_a.noconvert().none(),
          "codes"_a.noconvert(), "weight"_a.noconvert(), "table"_a.noconvert(), "scale"_a, "mix"_a,
          "bias"_a.noconvert(), "joint"_a.noconvert(), "rest"_a.noconvert());
}

}  // namespace misnomer
