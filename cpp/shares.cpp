#include "shares.hpp"

#include <nanobind/stl/optional.h>

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

Counts counts(const Plane<const double> &array) {
    return {array.data(), array.stride(0), array.stride(1)};
}

bool log_shares(const Plane<const double> &sums, const Plane<const double> &extra,
                const Plane<double> &out) {
    const Index classes = sums.shape(0), statistics = sums.shape(1);
    std::vector<double> mass(classes);
    Buffer<double> tile((shares_tile + 1) * classes + 8);
    SharesCall call{};
    call.classes = classes, call.statistics = statistics;
    call.sums = counts(sums), call.extra = counts(extra);
    call.out = out.data(), call.by_class = out.stride(0), call.by_statistic = out.stride(1);
    call.mass = mass.data(), call.tile = tile.data();
    nb::gil_scoped_release released;
    return chosen_kernels().log_shares(call);
}

// Replace scores by shares.
void softmax(const nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> &share,
             const nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> &height) {
    const Index rows = share.shape(0), classes = share.shape(1);
    Buffer<double> space(softmax_space(classes));
    const SoftmaxCall call{rows, static_cast<int>(classes), share.data(), height.data(),
                           space.data()};
    nb::gil_scoped_release released;
    chosen_kernels().softmax(call);
}

using Row = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Lines = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Replace shares by how the labels pull their scores.
void label_slopes(const Rows &share, const Lines &table, const Codes &codes,
                  const std::optional<Lines> &besides, const Values &weight, const Values &holds,
                  const std::optional<Values> &anchor, const Row &chance, const Row &mean,
                  const Rows &joint) {
    const Index classes = share.shape(1);
    Buffer<double> space(2 * classes);
    SlopesCall call{};
    call.rows = share.shape(0), call.classes = static_cast<int>(classes);
    call.share = share.data(), call.table = table.data(), call.codes = codes.data();
    call.besides = besides ? besides->data() : nullptr;
    call.weight = weight.data(), call.holds = holds.data();
    call.anchor = anchor ? anchor->data() : nullptr;
    call.chance = chance.data(), call.mean = mean.data(), call.joint = joint.data();
    call.pull = space.data(), call.seen = space.data() + classes;
    nb::gil_scoped_release released;
    chosen_kernels().label_slopes(call);
}

}  // namespace

void add_shares(nb::module_ &m) {
    m.def("softmax", &softmax, "share"_a.noconvert(), "height"_a.noconvert());
    m.def("label_slopes", &label_slopes, "share"_a.noconvert(), "table"_a.noconvert(),
          "codes"_a.noconvert(), "besides"_a.noconvert().none(), "weight"_a.noconvert(),
          "holds"_a.noconvert(), "anchor"_a.noconvert().none(), "chance"_a.noconvert(),
          "mean"_a.noconvert(), "joint"_a.noconvert());
    m.def("log_shares", &log_shares, "sums"_a.noconvert(), "extra"_a.noconvert(),
          "out"_a.noconvert());
}

}  // namespace misnomer
