// The sums of `pooled`, a tile of rows at a time; all rows of a tile have the same code.
#include <algorithm>
#include <cmath>

#include "lanes.hpp"
#include "pooled.hpp"
#include "softmax.hpp"
#include "widths.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

// The rows of a tile: where their scores, contrasts and weights are read.
struct Tile {
    const double *scores, *contrast, *weight;
    Index stride;        // from class to class
    const double *seen;  // (classes): P(label | true)
};

// What is kept of a tile, and what is added up over tiles, a vector for each class.
struct Desk {
    double *share, *moved;        // (padded, tile_rows)
    double *scores, *contrast;    // (classes, tile_rows) of a tile that is cut short
    double *weight;               // (tile_rows)
    double *joint, *size, *first, *mean, *other_first, *other_mean;  // (classes, lanes)
    double *cross;                // (padded, padded)

    Desk(double *space, int classes) {
        const int whole = padded(classes);
        const auto take = [&](int number) {
            double *own = space;
            space += number;
            return own;
        };
        share = take(whole * tile_rows), moved = take(whole * tile_rows);
        scores = take(classes * tile_rows), contrast = take(classes * tile_rows);
        weight = take(tile_rows);
        for (double **one : {&joint, &size, &first, &mean, &other_first, &other_mean})
            *one = take(classes * lanes);
        cross = take(whole * whole);
    }
};

struct Totals {
    Lanes loglik{}, held{}, other_held{};
};

inline Lanes root_of(const Lanes &value) {
    Lanes root;
    for (int i = 0; i < lanes; ++i) set_part(root, i, std::sqrt(part(value, i)));
    return root;
}

inline void add_lanes(double *to, const Lanes &value) { store(to, load(to) + value); }

// The rows from `at` on; where there are fewer than a tile has, a copy with rows that weigh
// nothing.
Tile tile_at(const PooledCall &call, const Desk &desk, Index at, int size) {
    const double *seen = call.table + call.codes[at] * call.classes;
    if (size == tile_rows)
        return {call.scores + at, call.contrast ? call.contrast + at : nullptr, call.weight + at,
                call.rows, seen};
    const auto copy = [&](const double *from, double *to) {
        std::copy(from, from + size, to);
        std::fill(to + size, to + tile_rows, 0.0);
    };
    copy(call.weight + at, desk.weight);
    for (int k = 0; k < call.classes; ++k) {
        copy(call.scores + k * call.rows + at, desk.scores + k * tile_rows);
        if (call.contrast)
            copy(call.contrast + k * call.rows + at, desk.contrast + k * tile_rows);
    }
    return {desk.scores, call.contrast ? desk.contrast : nullptr, desk.weight, tile_rows, seen};
}

// moved = scale (scores + mix contrast + bias); returns the largest of each row.
template <bool Contrast>
inline Lanes move(const PooledCall &call, const Desk &desk, const Tile &tile, int i) {
    Lanes top = all(std::numeric_limits<double>::lowest());
    for (int k = 0; k < call.classes; ++k) {
        const double *scores = tile.scores + k * tile.stride + i;
        prefetch(scores + tile_rows, 1);
        Lanes value = load(scores) + call.bias[k];
        if constexpr (Contrast) value += call.mix * load(tile.contrast + k * tile.stride + i);
        value *= call.scale;
        store(desk.moved + k * tile_rows + i, value);
        top = value > top ? value : top;
    }
    return top;
}

// What is known of each row of a tile: weight P(true | x) is `counted` times `share`;
// weight P(true | x, label) is `after` times `share` times P(label | true).
struct Known {
    Lanes counted[tile_rows / lanes], after[tile_rows / lanes];
    Lanes mean[tile_rows / lanes], other_mean[tile_rows / lanes];
    Lanes root[tile_rows / lanes];  // makes `share` sqrt(weight) P(true | x)
};

// What is known of some rows once their scores are exponentiated; the sums are those of
// exp(moved - top), to be divided by their total.
struct Summed {
    Lanes total{}, seen{}, moved{}, contrast{};
};

template <bool Slopes, bool Contrast>
inline Summed exponentiate(const PooledCall &call, const Desk &desk, const Tile &tile, int i,
                           const Lanes &top) {
    Summed sums;
    for (int k = 0; k < call.classes; ++k) {
        const Lanes moved = load(desk.moved + k * tile_rows + i), value = exp_below(moved - top);
        store(desk.share + k * tile_rows + i, value);
        sums.total += value;
        sums.seen += tile.seen[k] * value;
        if constexpr (Slopes) {
            sums.moved += value * moved;
            if constexpr (Contrast)
                sums.contrast += value * load(tile.contrast + k * tile.stride + i);
        }
    }
    return sums;
}

// Explain the labels of some rows.
template <bool Slopes, bool Contrast>
inline void explain(const PooledCall &call, const Desk &desk, const Tile &tile, int i,
                    Known &known, Lanes &loglik) {
    const Lanes top = move<Contrast>(call, desk, tile, i);
    const Summed sums = exponentiate<Slopes, Contrast>(call, desk, tile, i, top);
    const Lanes weight = load(tile.weight + i), norm = 1.0 / sums.total;
    Lanes chance = sums.seen * norm;
    chance = chance > 1e-300 ? chance : all(1e-300);
    loglik += weight * log_above(chance);
    known.counted[i / lanes] = weight * norm;
    known.after[i / lanes] = weight * norm / chance;
    if constexpr (Slopes) {
        known.root[i / lanes] = root_of(weight) * norm;
        known.mean[i / lanes] = sums.moved * norm;
        if constexpr (Contrast) known.other_mean[i / lanes] = sums.contrast * norm;
    }
}

// Add the rows of a tile up, class by class. What remains in `share` is sqrt(weight) P(true | x).
template <bool Slopes, bool Contrast>
inline void add_up(const PooledCall &call, const Desk &desk, const Tile &tile, int rows,
                   const Known &known, Totals &totals) {
    for (int k = 0; k < call.classes; ++k) {
        double *share = desk.share + k * tile_rows;
        const double *moved = desk.moved + k * tile_rows;
        const double *contrast = Contrast ? tile.contrast + k * tile.stride : nullptr;
        Lanes joint{}, size{}, first{}, mean{}, held{}, other_first{}, other_mean{}, other_held{};
        for (int i = 0; i < rows; i += lanes) {
            const Lanes value = load(share + i), own = value * known.counted[i / lanes];
            const Lanes after = value * known.after[i / lanes];
            size += own;
            joint += after;
            if constexpr (Slopes) {
                const Lanes height = load(moved + i);
                first += own * height;
                mean += own * known.mean[i / lanes];
                held += after * height;
                if constexpr (Contrast) {
                    const Lanes other = load(contrast + i);
                    other_first += own * other;
                    other_mean += own * known.other_mean[i / lanes];
                    other_held += after * other;
                }
                store(share + i, value * known.root[i / lanes]);
            }
        }
        add_lanes(desk.size + k * lanes, size);
        add_lanes(desk.joint + k * lanes, tile.seen[k] * joint);
        if constexpr (Slopes) {
            add_lanes(desk.first + k * lanes, first);
            add_lanes(desk.mean + k * lanes, mean);
            totals.held += tile.seen[k] * held;
            if constexpr (Contrast) {
                add_lanes(desk.other_first + k * lanes, other_first);
                add_lanes(desk.other_mean + k * lanes, other_mean);
                totals.other_held += tile.seen[k] * other_held;
            }
        }
    }
}

// Add the products of the shares of each two classes: of as many as a vector holds with two others.
void cross_tile(const Desk &desk, int classes) {
    const int whole = padded(classes);
    for (int k = 0; k < whole; k += lanes)
        for (int l = 0; l < std::min(k + lanes, classes); l += 2) {
            const int next = l + 1 < whole ? l + 1 : l;
            const double *own = desk.share + k * tile_rows;
            const double *one = desk.share + l * tile_rows, *two = desk.share + next * tile_rows;
            Lanes first[lanes] = {}, second[lanes] = {};
            for (int i = 0; i < tile_rows; i += lanes) {
                const Lanes a = load(one + i), b = load(two + i);
                MISNOMER_UNROLL
                for (int j = 0; j < lanes; ++j) {
                    const Lanes value = load(own + j * tile_rows + i);
                    first[j] += value * a;
                    second[j] += value * b;
                }
            }
            add_lanes(desk.cross + l * whole + k, sums(first));
            if (next != l) add_lanes(desk.cross + next * whole + k, sums(second));
        }
}

// Add the vectors of each class up, and clear them.
void collect(double *from, int classes, double *to) {
    for (int k = 0; k < classes; ++k, from += lanes) {
        to[k] += sum(load(from));
        store(from, Lanes{});
    }
}

template <bool Slopes, bool Contrast>
double all_rows(const PooledCall &call, const Desk &desk) {
    const int K = call.classes;
    Totals totals;
    for (Index at = 0; at < call.rows;) {
        const std::int32_t code = call.codes[at];
        int size = 1;
        while (size < tile_rows && at + size < call.rows && call.codes[at + size] == code) ++size;
        const Tile tile = tile_at(call, desk, at, size);
        Known known;
        for (int i = 0; i < size; i += lanes)
            explain<Slopes, Contrast>(call, desk, tile, i, known, totals.loglik);
        add_up<Slopes, Contrast>(call, desk, tile, size, known, totals);
        if constexpr (Slopes) {
            for (int k = 0; k < K; ++k)
                for (int i = (size + lanes - 1) / lanes * lanes; i < tile_rows; i += lanes)
                    store(desk.share + k * tile_rows + i, Lanes{});
            cross_tile(desk, K);
        }
        at += size;
        if (at == call.rows || call.codes[at] != code)
            collect(desk.joint, K, call.joint + code * K);
    }
    collect(desk.size, K, call.size);
    if constexpr (Slopes) {
        collect(desk.first, K, call.first), collect(desk.mean, K, call.mean);
        collect(desk.other_first, K, call.first + K), collect(desk.other_mean, K, call.mean + K);
        for (int k = 0; k < K; ++k)
            for (int l = 0; l < K; ++l)
                call.cross[k * K + l] = desk.cross[std::min(k, l) * padded(K) + std::max(k, l)];
        call.held[0] = sum(totals.held), call.held[1] = sum(totals.other_held);
    }
    return sum(totals.loglik);
}

}  // namespace

double pooled(const PooledCall &call) {
    const Desk desk(call.space, call.classes);
    if (!call.cross)
        return (call.contrast ? all_rows<false, true> : all_rows<false, false>)(call, desk);
    return (call.contrast ? all_rows<true, true> : all_rows<true, false>)(call, desk);
}

}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
