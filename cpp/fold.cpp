// From weights by class and statistic to the tables of the kernels, and from their sums back.
#include <algorithm>
#include <vector>

#include "plan.hpp"

namespace misnomer {

namespace {

// Call `body(statistic, row)` for each statistic of a group and each row that has it.
template <class Body>
void each_row(const Group &group, const std::vector<Digit> &digits, const Body &body) {
    for (Index d = group.first; d < group.last; ++d) {
        const Digit &digit = digits[d];
        const Index block = digit.radix * digit.factor;
        for (Index value = 0; value < digit.values; ++value)
            for (Index high = 0; high < group.rows; high += block)
                for (Index low = 0; low < digit.factor; ++low)
                    body(digit.statistic + value,
                         group.base + high + (digit.first + value) * digit.factor + low);
        if (digit.always >= 0)
            for (Index row = 0; row < group.rows; ++row) body(digit.always, group.base + row);
    }
}

// Call `body(class, statistic, place)` for each column of a block of reals: `place` is that of the
// class and column among vectors, of which the last ends with the columns.
template <class Body>
void each_real(const Reals &block, Index statistic, int classes, const Body &body) {
    const Index whole = block.padded - (block.step - block.last);  // all but the last vector
    for (int k = 0; k < classes; ++k)
        for (Index j = 0; j < block.columns; ++j)
            body(k, statistic + j, k * block.padded + (j < whole ? j : j - block.last + whole));
}

void copy(const Matrix &from, const Matrix &to, Index classes, Index statistics) {
    constexpr Index tile = 32;  // statistics: both sides stay in the cache
    for (Index start = 0; start < statistics; start += tile)
        for (Index k = 0; k < classes; ++k)
            for (Index s = start; s < std::min(start + tile, statistics); ++s)
                to(k, s) = from(k, s);
}

Matrix shifted(const Matrix &matrix, Index statistic) {
    return {&matrix(0, statistic), matrix.by_class, matrix.by_statistic};
}

}  // namespace

// Rows by class: side by side, or apart.
Matrix Plan::matrix(double *data, Index rows) const {
    return layout_.apart ? Matrix{data, rows, 1} : Matrix{data, 1, layout_.stride};
}

void Plan::fold(const Matrix &weights, const Matrix &by_code) {
    const int classes = layout_.scored;
    lookup_table_ = Buffer<double>(slots_ * layout_.stride);
    const Matrix table = matrix(lookup_table_.data(), slots_);
    for (Index g = 0; g < groups(); ++g) {
        const Matrix &own = g < code_groups_ ? by_code : weights;
        each_row(groups_[g], digits_, [&](Index statistic, Index row) {
            for (int k = 0; k < classes; ++k) table(k, row) += own(k, statistic);
        });
    }
    for (std::size_t b = 0; b < reals_.size(); ++b) {
        Reals &block = reals_[b];
        const Index size = Index{classes} * block.padded;
        Buffer<double> packed(3 * size + classes);
        for (Index power = 0; power < 3; ++power)
            each_real(block, table_.reals[b].statistic + power * block.columns, classes,
                      [&](int k, Index statistic, Index place) {
                          packed[power * size + place] = weights(k, statistic);
                      });
        for (int k = 0; k < classes; ++k)
            for (Index j = 0; j < block.padded; ++j)
                packed[3 * size + k] += packed[k * block.padded + j];
        block.weights = packed.data();
        block.constant = packed.data() + 3 * size;
        weights_.push_back(std::move(packed));
    }
    for (std::size_t b = 0; b < words_.size(); ++b) {
        if (weights.by_class == 1 && weights.by_statistic == layout_.stride) {
            words_[b].weights = &weights(0, table_.words[b].statistic);
            continue;
        }
        Buffer<double> packed(words_[b].columns * layout_.stride,
                              classes == layout_.stride ? Fill::none : Fill::zero);
        copy(shifted(weights, table_.words[b].statistic), matrix(packed.data(), 0), classes,
             words_[b].columns);
        words_[b].weights = packed.data();
        weights_.push_back(std::move(packed));
    }
}

void Plan::sketch(const Kernels &kernels) {
    constexpr Index worth = 40;  // cells of a word
    constexpr int few = 8;       // classes: their weights fit into one cache line
    if (words_.size() != 1 || layout_.scored <= few || layout_.scored < layout_.classes) return;
    const Index size = kernels.sketch_size(layout_.classes);
    if (size == 0 || words_[0].cells < std::max<Index>(worth * words_[0].columns, 1)) return;
    Buffer<std::uint32_t> table(words_[0].columns * size, Fill::none);
    if (!kernels.sketch(call(), table_.rows, table.data())) return;
    sketch_ = std::move(table);
    words_[0].sketch = sketch_.data();
}

void Plan::unfold(const Sums &sums, const Matrix &out, const Matrix &by_code) const {
    const int classes = layout_.classes;
    const Matrix table = matrix(sums.own, slots_);
    for (Index g = 0; g < groups(); ++g) {
        const Matrix &own = g < code_groups_ ? by_code : out;
        each_row(groups_[g], digits_, [&](Index statistic, Index row) {
            for (int k = 0; k < classes; ++k) own(k, statistic) += table(k, row);
        });
    }
    for (std::size_t b = 0; b < reals_.size(); ++b) {
        const Reals &block = reals_[b];
        double *mass = sums.own + block.sums;
        const Index size = Index{classes} * block.padded;
        const Index first = table_.reals[b].statistic;
        for (Index power = 0; power < 3; ++power)
            each_real(block, first + power * block.columns, classes,
                      [&](int k, Index statistic, Index place) {
                          out(k, statistic) = mass[classes + power * size + place];
                      });
        for (int k = 0; k < classes; ++k)
            for (Index j = 0; j < block.columns; ++j) out(k, first + j) += mass[k];
    }
    if (sums.words == words_in(out.data)) return;
    for (std::size_t b = 0; b < words_.size(); ++b)
        copy(matrix(sums.words + words_[b].sums, words_[b].columns),
             shifted(out, table_.words[b].statistic), classes, words_[b].columns);
}

}  // namespace misnomer
