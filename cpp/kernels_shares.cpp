// The logarithms of shares, a tile of statistics at a time, in which the classes lie side by side.
//
// `Classes` is how many there are: a number that the compiler knows where they are few, so that
// loops over them are unrolled.
#include <algorithm>
#include <limits>

#include "lanes.hpp"
#include "shares.hpp"
#include "softmax.hpp"
#include "widths.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

// Combine a tile with the numbers of a view: the inner loop runs where these lie side by side.
template <class Classes, class Body>
inline void each_cell(const Counts &from, Classes classes, Index first, Index size, double *tile,
                      const Body &body) {
    const double *data = from.data + first * from.by_statistic;
    if (from.by_class == 1) {
        for (Index s = 0; s < size; ++s)
            for (Index k = 0; k < classes; ++k)
                body(tile[s * classes + k], data[s * from.by_statistic + k]);
    } else if (from.by_class == 0) {
        for (Index s = 0; s < size; ++s)
            for (Index k = 0; k < classes; ++k)
                body(tile[s * classes + k], data[s * from.by_statistic]);
    } else {
        for (Index k = 0; k < classes; ++k)
            for (Index s = 0; s < size; ++s)
                body(tile[s * classes + k], data[k * from.by_class + s * from.by_statistic]);
    }
}

template <class Classes>
inline void read_tile(const SharesCall &call, Classes classes, Index first, Index size) {
    const auto each = [&](const Counts &from, const auto &body) {
        each_cell(from, classes, first, size, call.tile, body);
    };
    each(call.sums, [](double &cell, double value) { cell = value; });
    each(call.extra, [](double &cell, double value) { cell += value; });
}

// Replace counts by their logarithms; false where one is not a positive, finite number.
inline bool take_logs(double *tile, Index size) {
    Lanes least = all(std::numeric_limits<double>::max()), odd{};
    for (Index i = size; i % lanes; ++i) tile[i] = 1.0;
    for (Index i = 0; i < size; i += lanes) {
        const Lanes value = load(tile + i);
        least = value < least ? value : least;
        odd += value - value;  // zero for finite numbers alone
        store(tile + i, log_above(value));
    }
    bool fine = sum(odd) == 0.0;
    for (int i = 0; i < lanes; ++i)
        fine &= part(least, i) >= std::numeric_limits<double>::min();  // smaller ones are imprecise
    return fine;
}

// Call `body(cell of the result, cell of the tile, class)` for some statistics.
template <class Classes, class Body>
inline void each_result(const SharesCall &call, Classes classes, Index first, Index size,
                        const Body &body) {
    double *out = call.out + first * call.by_statistic;
    if (call.by_class == 1) {
        for (Index s = 0; s < size; ++s)
            for (Index k = 0; k < classes; ++k)
                body(out[s * call.by_statistic + k], s * classes + k, k);
    } else {
        for (Index k = 0; k < classes; ++k)
            for (Index s = 0; s < size; ++s)
                body(out[k * call.by_class + s * call.by_statistic], s * classes + k, k);
    }
}

template <class Classes>
bool log_shares(const SharesCall &call, Classes classes) {
    for (Index first = 0; first < call.statistics; first += shares_tile) {
        const Index rest = call.statistics - first, size = rest < shares_tile ? rest : shares_tile;
        read_tile(call, classes, first, size);
        for (Index s = 0; s < size; ++s)
            for (Index k = 0; k < classes; ++k) call.mass[k] += call.tile[s * classes + k];
        if (!take_logs(call.tile, size * classes)) return false;
        const double *tile = call.tile;
        each_result(call, classes, first, size,
                    [&](double &out, Index at, Index) { out = tile[at]; });
    }
    double *mass = call.mass;
    for (Index k = 0; k < classes; ++k) mass[k] = part(log_above(all(mass[k])), 0);
    each_result(call, classes, 0, call.statistics,
                [&](double &out, Index, Index k) { out -= mass[k]; });
    return true;
}

// Turn the scores of a group of rows into shares; those that are not there are left alone.
void softmax_group(const Group &rows, double *height, Index there) {
    Lanes top[beside], total[beside], factor[beside];
    take_rows(rows);
    exponentiate(rows, top, total);
    for (int b = 0; b < beside; ++b) {
        factor[b] = 1.0 / total[b];
        const Lanes found = top[b] + log_above(total[b]);
        for (int i = 0; i < lanes && b * lanes + i < there; ++i)
            height[b * lanes + i] = part(found, i);
    }
    give_rows(rows, factor);
}

}  // namespace

void softmax(const SoftmaxCall &call) {
    const int K = call.classes;
    Group group{call.share, K, K, K, reinterpret_cast<Lanes *>(call.space)};
    double *rest = call.space + Index{K} * group_rows;  // the last rows, made up to a group
    for (Index row = 0; row < call.rows; row += group_rows) {
        const Index there = std::min<Index>(call.rows - row, group_rows);
        double *own = call.share + row * K;
        group.scores = there == group_rows ? own : rest;
        if (there < group_rows) std::copy(own, own + there * K, rest);
        softmax_group(group, call.height + row, there);
        if (there < group_rows) std::copy(rest, rest + there * K, own);
    }
}

bool log_shares(const SharesCall &call) {
    switch (call.classes) {
        case 1: return log_shares(call, Number_of<1>{});
        case 2: return log_shares(call, Number_of<2>{});
        case 3: return log_shares(call, Number_of<3>{});
        case 4: return log_shares(call, Number_of<4>{});
        case 5: return log_shares(call, Number_of<5>{});
        default: return log_shares(call, call.classes);
    }
}

}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
