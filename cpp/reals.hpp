// Real columns: a row's evidence is a quadratic form of each cell. A vector holds several columns.
//
// The last vector of a row ends with the row, so that it may begin before the one before it ends.
// A column that is in both counts in the earlier one only: its weight in the last one is zero,
// and its sum there is never looked at.
#pragma once

#include "kernels.hpp"
#include "lanes.hpp"
#include "widths.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

// Rows of doubles, whose padding, if any, is zero.
struct Cells {
    const double *at, *center;
    int step;  // from row to row
    int last;  // where the last vector of a row begins
    Lanes operator()(Index row, int j) const {
        const int place = j < last ? j : last;
        return load(at + row * step + place) - load(center + place);
    }
};

// Whether every cell of these rows is finite: one that is not spoils the trace.
bool all_finite(const double *cells, Index size) {
    constexpr int traces = 4;  // several, as each waits for its last sum
    Lanes trace[traces] = {};
    Index i = 0;
    for (; i + traces * lanes <= size; i += traces * lanes)
        for (int t = 0; t < traces; ++t) trace[t] += 0.0 * load(cells + i + t * lanes);
    double rest = 0.0;
    for (; i < size; ++i) rest += 0.0 * cells[i];
    return sum(trace[0] + trace[1] + trace[2] + trace[3]) + rest == 0.0;
}

// Copy the cells, mark with one where they are, and put the center where they are not, which
// then weighs nothing; return whether all are there.
template <class Real>
bool copy_cells(const Reals &block, Index first, Index rows, double *values, double *seen) {
    const Real *cells = static_cast<const Real *>(block.values) + first * block.columns;
    bool complete = true;
    for (Index row = 0; row < rows; ++row) {
        for (int j = 0; j < block.columns; ++j) {
            const double cell = static_cast<double>(cells[j]);
            const bool there = cell == cell;
            values[j] = there ? cell : block.center[j];
            seen[j] = there ? 1.0 : 0.0;
            complete &= there;
        }
        cells += block.columns, values += block.step, seen += block.step;
    }
    return complete;
}

// Cells that are finite doubles are used where they are.
void read_reals(const Call &call, Index first, Index rows, Scratch &scratch) {
    for (int b = 0; b < call.n_reals; ++b) {
        const Reals &block = call.reals[b];
        const double *cells = static_cast<const double *>(block.values) + first * block.columns;
        if (!block.single && block.step == block.columns &&
            all_finite(cells, rows * block.columns)) {
            scratch.cells[b] = cells;
            scratch.complete[b] = true;
            continue;
        }
        double *values = scratch.values + block.scratch;
        scratch.cells[b] = values;
        scratch.complete[b] = (block.single ? copy_cells<float> : copy_cells<double>)(
            block, first, rows, values, scratch.seen + block.scratch);
    }
}

Cells cells_of(const Reals &block, const double *at) {
    return {at, block.center, block.step, block.last};
}

// score[k] += constant[k] + sum_j (x_j linear[k, j] + x_j^2 square[k, j]), for `Rows` rows.
template <int Classes, int Rows>
inline void quadratic_form(const Cells &cells, Index row, int padded, const double *linear,
                           const double *square, const double *constant, double *scores,
                           int stride) {
    Lanes form[Rows][Classes] = {};
    for (int j = 0; j < padded; j += lanes) {
        Lanes x[Rows], square_of[Rows];
        for (int r = 0; r < Rows; ++r) {
            x[r] = cells(row + r, j);
            square_of[r] = x[r] * x[r];
        }
        for (int k = 0; k < Classes; ++k) {
            Lanes slope = load(linear + k * padded + j);
            hold(slope);
            for (int r = 0; r < Rows; ++r) form[r][k] += x[r] * slope;
            Lanes bend = load(square + k * padded + j);
            hold(bend);
            for (int r = 0; r < Rows; ++r) form[r][k] += square_of[r] * bend;
        }
    }
    constexpr int whole = Classes / lanes * lanes;
    MISNOMER_UNROLL
    for (int r = 0; r < Rows; ++r) {
        double *own = scores + r * stride;
        MISNOMER_UNROLL
        for (int k = 0; k < whole; k += lanes) {
            Lanes some[lanes];
            MISNOMER_UNROLL
            for (int i = 0; i < lanes; ++i) some[i] = form[r][k + i];
            store(own + k, load(own + k) + load(constant + k) + sums(some));
        }
        for (int k = whole; k < Classes; ++k) own[k] += constant[k] + sum(form[r][k]);
    }
}

// score[k] += sum_j seen_j observed[k, j]
template <int Classes>
void linear_form(const Reals &block, const double *seen, Index rows, const double *observed,
                 double *scores, int stride) {
    for (Index row = 0; row < rows; ++row, seen += block.step, scores += stride) {
        Lanes form[Classes] = {};
        for (int j = 0; j < block.padded; j += lanes)
            for (int k = 0; k < Classes; ++k)
                form[k] += load(seen + (j < block.last ? j : block.last)) *
                           load(observed + k * block.padded + j);
        for (int k = 0; k < Classes; ++k) scores[k] += sum(form[k]);
    }
}

void score_block(const Call &call, const Reals &block, Index first_row, Index rows,
                 const Cells &cells, const double *seen, double *scores) {
    const int padded = block.padded, stride = call.stride;
    const Index bytes = block.columns * (block.single ? 4 : 8);
    const char *later = static_cast<const char *>(block.values) + (first_row + rows) * bytes;
    by_class(call.scored, [&](auto number, int first) {
        constexpr int n = decltype(number)::value;
        constexpr int together = n <= 2 ? 4 : 2;  // as many sums as keep the processor busy
        constexpr double nothing[n] = {};
        const double *observed = block.weights + first * padded;
        const double *linear = observed + Index{call.scored} * padded;
        const double *square = linear + Index{call.scored} * padded;
        const double *constant = seen ? nothing : block.constant + first;
        double *own = scores + first;
        Index row = 0;
        for (; row + together <= rows; row += together) {
            if (first == 0) prefetch(later + row * bytes, together * bytes);
            quadratic_form<n, together>(cells, row, padded, linear, square, constant,
                                        own + row * stride, stride);
        }
        for (; row < rows; ++row)
            quadratic_form<n, 1>(cells, row, padded, linear, square, constant,
                                 own + row * stride, stride);
        if (seen) linear_form<n>(block, seen, rows, observed, own, stride);
    });
}

void score_reals(const Call &call, Index first, Index rows, Scratch &scratch) {
    for (int b = 0; b < call.n_reals; ++b) {
        const Reals &block = call.reals[b];
        score_block(call, block, first, rows, cells_of(block, scratch.cells[b]),
                    scratch.complete[b] ? nullptr : scratch.seen + block.scratch, scratch.scores);
    }
}

inline void add_to(double *sum, const Lanes &value) { store(sum, load(sum) + value); }

// first[k, j] += sum_i share[i, k] x[i, j], and second[k, j] the same of x^2; from column j on.
template <int Classes, int Vectors>
inline void add_powers(const Cells &cells, Index rows, int j, int padded, const double *share,
                       int stride, double *first, double *second) {
    Lanes one[Vectors][Classes] = {}, two[Vectors][Classes] = {};
    for (Index row = 0; row < rows; ++row)
        for (int v = 0; v < Vectors; ++v) {
            const Lanes x = cells(row, j + v * lanes), square = x * x;
            for (int k = 0; k < Classes; ++k) {
                one[v][k] += share[row * stride + k] * x;
                two[v][k] += share[row * stride + k] * square;
            }
        }
    for (int v = 0; v < Vectors; ++v)
        for (int k = 0; k < Classes; ++k) {
            add_to(first + k * padded + j + v * lanes, one[v][k]);
            add_to(second + k * padded + j + v * lanes, two[v][k]);
        }
}

// observed[k, j] += sum_i share[i, k] seen[i, j]
template <int Classes>
void add_seen(const Reals &block, const double *seen, Index rows, const double *share, int stride,
              double *observed) {
    for (int j = 0; j < block.padded; j += lanes) {
        const double *own = seen + (j < block.last ? j : block.last);
        Lanes mass[Classes] = {};
        for (Index row = 0; row < rows; ++row)
            for (int k = 0; k < Classes; ++k)
                mass[k] += share[row * stride + k] * load(own + row * block.step);
        for (int k = 0; k < Classes; ++k) add_to(observed + k * block.padded + j, mass[k]);
    }
}

// mass[k] += sum_i share[i, k]
void add_mass(const double *share, Index rows, const Call &call, double *mass) {
    by_class(call.classes, [&](auto number, int first) {
        constexpr int n = decltype(number)::value;
        double own[n] = {};
        for (Index row = 0; row < rows; ++row)
            for (int k = 0; k < n; ++k) own[k] += share[row * call.stride + first + k];
        for (int k = 0; k < n; ++k) mass[first + k] += own[k];
    });
}

void add_block(const Call &call, const Reals &block, Index rows, const Cells &cells,
               const double *seen, const double *share, double *mass) {
    const int padded = block.padded, stride = call.stride;
    if (!seen) add_mass(share, rows, call, mass);
    by_class(call.classes, [&](auto number, int first) {
        constexpr int n = decltype(number)::value;
        constexpr int together = n <= 2 ? 2 : 1;
        double *observed = mass + call.classes + first * padded;
        double *one = observed + Index{call.classes} * padded;
        double *two = one + Index{call.classes} * padded;
        int j = 0;
        for (; j + together * lanes <= padded; j += together * lanes)
            add_powers<n, together>(cells, rows, j, padded, share + first, stride, one, two);
        for (; j < padded; j += lanes)
            add_powers<n, 1>(cells, rows, j, padded, share + first, stride, one, two);
        if (seen) add_seen<n>(block, seen, rows, share + first, stride, observed);
    });
}

void add_reals(const Call &call, Index rows, const Scratch &scratch, double *sums) {
    for (int b = 0; b < call.n_reals; ++b) {
        const Reals &block = call.reals[b];
        add_block(call, block, rows, cells_of(block, scratch.cells[b]),
                  scratch.complete[b] ? nullptr : scratch.seen + block.scratch, scratch.scores,
                  sums + block.sums);
    }
}

void tally_row(const Reals &block, const Cells &cells, Index row, const double *seen,
               double weight, double *mass, double *observed, Index step) {
    if (!seen) *mass += weight;
    for (int j = 0; j < block.padded; j += lanes) {
        const Lanes x = cells(row, j);
        if (seen) add_to(observed + j, weight * load(seen + (j < block.last ? j : block.last)));
        add_to(observed + step + j, weight * x);
        add_to(observed + 2 * step + j, weight * (x * x));
    }
}

void tally_reals(const Call &call, Index first, Index rows, const Scratch &scratch,
                 double *sums) {
    for (int b = 0; b < call.n_reals; ++b) {
        const Reals &block = call.reals[b];
        const Cells cells = cells_of(block, scratch.cells[b]);
        double *mass = sums + block.sums, *observed = mass + call.classes;
        for (Index row = 0; row < rows; ++row) {
            const int code = call.codes[first + row];
            if (code < 0) continue;
            const double *seen = scratch.seen + block.scratch + row * block.step;
            tally_row(block, cells, row, scratch.complete[b] ? nullptr : seen,
                      call.weight ? call.weight[first + row] : 1.0, mass + code,
                      observed + Index{code} * block.padded, Index{call.classes} * block.padded);
        }
    }
}

}  // namespace
}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
