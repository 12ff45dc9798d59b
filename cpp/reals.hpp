// Real columns: a row's evidence is a quadratic form of each cell. A vector holds several columns.
#pragma once

#include "kernels.hpp"
#include "lanes.hpp"
#include "widths.hpp"

namespace misnomer {
namespace MISNOMER_VARIANT {
namespace {

// The padding of Scratch::values and Scratch::seen is zero from the start and stays so.

// Write cell - center; return whether every one is finite. One that is not spoils the trace.
template <class Real>
bool center_cells(const Reals &block, Index first, Index rows, double *values) {
    const Real *cells = static_cast<const Real *>(block.values) + first * block.columns;
    const int whole = block.columns / lanes * lanes;
    Lanes trace = {};
    double rest = 0.0;
    for (Index row = 0; row < rows; ++row, cells += block.columns, values += block.padded) {
        for (int j = 0; j < whole; j += lanes) {
            const Lanes value = load(cells + j) - load(block.center + j);
            trace += 0.0 * value;
            store(values + j, value);
        }
        for (int j = whole; j < block.columns; ++j) {
            values[j] = static_cast<double>(cells[j]) - block.center[j];
            rest += 0.0 * values[j];
        }
    }
    return sum(trace) + rest == 0.0;
}

// Put zero where a cell is missing, and mark with one where it is not; return whether all are there.
bool mark_cells(const Reals &block, Index rows, double *values, double *seen) {
    bool complete = true;
    for (Index row = 0; row < rows; ++row, values += block.padded, seen += block.padded)
        for (int j = 0; j < block.columns; ++j) {
            const bool there = values[j] == values[j];
            seen[j] = there ? 1.0 : 0.0;
            values[j] = there ? values[j] : 0.0;
            complete &= there;
        }
    return complete;
}

template <class Real>
bool read_cells(const Reals &block, Index first, Index rows, double *values, double *seen) {
    return center_cells<Real>(block, first, rows, values) || mark_cells(block, rows, values, seen);
}

void read_reals(const Call &call, Index first, Index rows, Scratch &scratch) {
    for (int b = 0; b < call.n_reals; ++b) {
        const Reals &block = call.reals[b];
        scratch.complete[b] = (block.single ? read_cells<float> : read_cells<double>)(
            block, first, rows, scratch.values + block.scratch, scratch.seen + block.scratch);
    }
}

// score[k] += constant[k] + sum_j (x_j linear[k, j] + x_j^2 square[k, j]), for `Rows` rows.
template <int Classes, int Rows>
inline void quadratic_form(const double *values, int padded, const double *linear,
                           const double *square, const double *constant, double *scores,
                           int stride) {
    Lanes form[Rows][Classes] = {};
    for (int j = 0; j < padded; j += lanes) {
        Lanes x[Rows], xx[Rows];
        for (int r = 0; r < Rows; ++r) {
            x[r] = load(values + r * padded + j);
            xx[r] = x[r] * x[r];
        }
        for (int k = 0; k < Classes; ++k) {
            const Lanes slope = load(linear + k * padded + j);
            for (int r = 0; r < Rows; ++r) form[r][k] += x[r] * slope;
            const Lanes bend = load(square + k * padded + j);
            for (int r = 0; r < Rows; ++r) form[r][k] += xx[r] * bend;
        }
    }
    for (int r = 0; r < Rows; ++r)
        for (int k = 0; k < Classes; ++k)
            scores[r * stride + k] += (constant ? constant[k] : 0.0) + sum(form[r][k]);
}

// score[k] += sum_j seen_j observed[k, j]
template <int Classes>
void linear_form(const double *seen, Index rows, int padded, const double *observed,
                 double *scores, int stride) {
    for (Index row = 0; row < rows; ++row, seen += padded, scores += stride) {
        Lanes form[Classes] = {};
        for (int j = 0; j < padded; j += lanes)
            for (int k = 0; k < Classes; ++k)
                form[k] += load(seen + j) * load(observed + k * padded + j);
        for (int k = 0; k < Classes; ++k) scores[k] += sum(form[k]);
    }
}

void score_block(const Call &call, const Reals &block, Index first_row, Index rows, const double *values,
                 const double *seen, double *scores) {
    const int padded = block.padded, stride = call.stride;
    const Index bytes = block.columns * (block.single ? 4 : 8);
    const char *later = static_cast<const char *>(block.values) + (first_row + rows) * bytes;
    by_class(call.classes, [&](auto number, int first) {
        constexpr int n = decltype(number)::value;
        const double *observed = block.weights + first * padded;
        const double *linear = observed + Index{call.classes} * padded;
        const double *square = linear + Index{call.classes} * padded;
        const double *constant = seen ? nullptr : block.constant + first;
        Index row = 0;
        for (; row + 1 < rows; row += 2) {
            if (first == 0) prefetch(later + row * bytes, 2 * bytes);
            quadratic_form<n, 2>(values + row * padded, padded, linear, square, constant,
                                 scores + row * stride + first, stride);
        }
        for (; row < rows; ++row)
            quadratic_form<n, 1>(values + row * padded, padded, linear, square, constant,
                                 scores + row * stride + first, stride);
        if (seen) linear_form<n>(seen, rows, padded, observed, scores + first, stride);
    });
}

void score_reals(const Call &call, Index first, Index rows, Scratch &scratch) {
    for (int b = 0; b < call.n_reals; ++b) {
        const Reals &block = call.reals[b];
        score_block(call, block, first, rows, scratch.values + block.scratch,
                    scratch.complete[b] ? nullptr : scratch.seen + block.scratch, scratch.scores);
    }
}

// first[k, j] += sum_i share[i, k] x[i, j], and second[k, j] the same of x^2.
template <int Classes>
void add_powers(const double *values, Index rows, int padded, const double *share, int stride,
                double *first, double *second) {
    for (int j = 0; j < padded; j += lanes) {
        Lanes one[Classes] = {}, two[Classes] = {};
        for (Index row = 0; row < rows; ++row) {
            const Lanes x = load(values + row * padded + j), square = x * x;
            for (int k = 0; k < Classes; ++k) {
                one[k] += share[row * stride + k] * x;
                two[k] += share[row * stride + k] * square;
            }
        }
        for (int k = 0; k < Classes; ++k) {
            store(first + k * padded + j, load(first + k * padded + j) + one[k]);
            store(second + k * padded + j, load(second + k * padded + j) + two[k]);
        }
    }
}

// observed[k, j] += sum_i share[i, k] seen[i, j]
template <int Classes>
void add_seen(const double *seen, Index rows, int padded, const double *share, int stride,
              double *observed) {
    for (int j = 0; j < padded; j += lanes) {
        Lanes mass[Classes] = {};
        for (Index row = 0; row < rows; ++row)
            for (int k = 0; k < Classes; ++k)
                mass[k] += share[row * stride + k] * load(seen + row * padded + j);
        for (int k = 0; k < Classes; ++k)
            store(observed + k * padded + j, load(observed + k * padded + j) + mass[k]);
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

void add_block(const Call &call, const Reals &block, Index rows, const double *values,
               const double *seen, const double *share, double *mass) {
    const int padded = block.padded, stride = call.stride;
    if (!seen) add_mass(share, rows, call, mass);
    by_class(call.classes, [&](auto number, int first) {
        constexpr int n = decltype(number)::value;
        double *observed = mass + call.classes + first * padded;
        double *one = observed + Index{call.classes} * padded;
        double *two = one + Index{call.classes} * padded;
        add_powers<n>(values, rows, padded, share + first, stride, one, two);
        if (seen) add_seen<n>(seen, rows, padded, share + first, stride, observed);
    });
}

void add_reals(const Call &call, Index rows, const Scratch &scratch, double *sums) {
    for (int b = 0; b < call.n_reals; ++b) {
        const Reals &block = call.reals[b];
        add_block(call, block, rows, scratch.values + block.scratch,
                  scratch.complete[b] ? nullptr : scratch.seen + block.scratch, scratch.scores,
                  sums + block.sums);
    }
}

void tally_row(const Reals &block, const double *values, const double *seen, double weight,
               double *mass, double *observed, Index step) {
    if (!seen) *mass += weight;
    for (int j = 0; j < block.padded; ++j) {
        if (seen) observed[j] += weight * seen[j];
        observed[step + j] += weight * values[j];
        observed[2 * step + j] += weight * (values[j] * values[j]);
    }
}

void tally_reals(const Call &call, Index first, Index rows, const Scratch &scratch,
                 double *sums) {
    for (int b = 0; b < call.n_reals; ++b) {
        const Reals &block = call.reals[b];
        double *mass = sums + block.sums, *observed = mass + call.classes;
        for (Index row = 0; row < rows; ++row) {
            const int code = call.codes[first + row];
            if (code < 0) continue;
            const Index at = block.scratch + row * block.padded;
            tally_row(block, scratch.values + at,
                      scratch.complete[b] ? nullptr : scratch.seen + at,
                      call.weight ? call.weight[first + row] : 1.0, mass + code,
                      observed + Index{code} * block.padded,
                      Index{call.classes} * block.padded);
        }
    }
}

}  // namespace
}  // namespace MISNOMER_VARIANT
}  // namespace misnomer
