#include "shares.hpp"

#include <string>
#include <vector>

#include "buffer.hpp"
#include "dispatch.hpp"
#include "module_parts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace misnomer {

namespace {

template <class T>
using Plane = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

bool run(const SharesCall &call) {
    [[maybe_unused]] const std::string variant = chosen_kernels().variant;
#ifdef MISNOMER_WITH_AVX512
    if (variant == "avx512") return avx512::log_shares(call);
#endif
#ifdef MISNOMER_WITH_AVX2
    if (variant == "avx2") return avx2::log_shares(call);
#endif
    return baseline::log_shares(call);
}

Counts counts(const Plane<const double> &array) {
    return {array.data(), array.stride(0), array.stride(1)};
}

bool log_shares(const Plane<const double> &sums, const Plane<const double> &extra,
                const std::optional<Plane<const double>> &less, const Plane<double> &out,
                bool centered) {
    const Index classes = sums.shape(0), statistics = sums.shape(1);
    std::vector<double> mass(classes);
    Buffer<double> tile((shares_tile + 1) * classes + 8);
    const SharesCall call{classes,      statistics,    counts(sums),  less ? counts(*less) : Counts{},
                          counts(extra), out.data(),   out.stride(0), out.stride(1),
                          centered,      mass.data(),  tile.data()};
    nb::gil_scoped_release released;
    return run(call);
}

void run(const SoftmaxCall &call) {
    [[maybe_unused]] const std::string variant = chosen_kernels().variant;
#ifdef MISNOMER_WITH_AVX512
    if (variant == "avx512") return avx512::softmax(call);
#endif
#ifdef MISNOMER_WITH_AVX2
    if (variant == "avx2") return avx2::softmax(call);
#endif
    baseline::softmax(call);
}

// Replace scores by shares.
void softmax(const nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> &share,
             const nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> &height) {
    const Index rows = share.shape(0), classes = share.shape(1);
    Buffer<double> space(softmax_space(classes));
    const SoftmaxCall call{rows, static_cast<int>(classes), share.data(), height.data(),
                           space.data()};
    nb::gil_scoped_release released;
    run(call);
}

}  // namespace

void add_shares(nb::module_ &m) {
    m.def("softmax", &softmax, "share"_a.noconvert(), "height"_a.noconvert());
    m.def("log_shares", &log_shares, "sums"_a.noconvert(), "extra"_a.noconvert(),
          "less"_a.noconvert().none(), "out"_a.noconvert(), "centered"_a);
}

}  // namespace misnomer
