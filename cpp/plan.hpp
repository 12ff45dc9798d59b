// How a table is worked through: which columns are looked up together, and where sums are kept.
#pragma once

#include <vector>

#include "buffer.hpp"
#include "kernels.hpp"
#include "table.hpp"

namespace misnomer {

// A column in a group of columns that are looked up together: the group's table row is the sum
// of value * factor over its columns. The values first, first + 1, .. have the statistics
// statistic, statistic + 1, ..; any other value has none. `always` is a statistic that every
// row has, or -1.
struct Digit {
    Index radix, factor;
    Index first, values;
    Index statistic, always;
};

struct Group {
    Index base, rows;   // in the table
    Index first, last;  // its digits
};

// Where sums are kept: the classes side by side in each row (stride), or in a copy of all rows
// for each class (apart: then the stride is one).
struct Layout {
    int classes;
    int scored;
    int stride;
    bool apart;
    Index width() const { return apart ? classes : stride; }
};

class Plan {
  public:
    // `codes` are the rows' codes below `n_codes`, which act as one more column; or null.
    Plan(const Table &table, Layout layout, const std::int32_t *codes, Index n_codes, int lanes);

    // Write the weights into the tables that the kernels read.
    void fold(const Matrix &weights, const Matrix &by_code);
    // Sketch the folded weights of words, where that speeds the pass up.
    void sketch(const Kernels &kernels);
    // Read the sums by class and statistic, and by class and code. Those of words may lie in
    // `out` already.
    void unfold(const Sums &sums, const Matrix &out, const Matrix &by_code) const;
    // Where the sums of words would lie in a result with the classes side by side.
    double *words_in(double *out) const { return out + words_from_ * layout_.stride; }

    Call call() const;
    Index rows() const { return table_.rows; }
    int stride() const { return layout_.stride; }
    Index own_size() const { return own_size_; }
    Index words_size() const { return words_size_; }
    Index chunk() const { return chunk_; }      // rows that are worked on at once
    Index stripes() const { return stripes_; }  // parts with sums of their own
    double work() const { return work_; }       // additions of a pass, roughly
    Index groups() const { return static_cast<Index>(groups_.size()); }
    Index scratch_values() const { return scratch_values_; }  // reals in a row

  private:
    void add_row_codes(const std::int32_t *codes, Index n_codes);
    void add_codes(const CodesBlock &block);
    void add_flags(const FlagsBlock &block);
    void add_bits(const FlagsBlock &block, const std::uint8_t *bits, Index statistic, bool always);
    void add_reals(const RealsBlock &block, int lanes);
    void add_words(const WordsBlock &block);
    void add_group(Index first_digit);
    void add_run(Run run, Index first_group, Index copies = 1);
    void cut_sections();
    void choose_chunk();
    void choose_stripes();
    void place_sums();
    Matrix matrix(double *data, Index rows) const;

    const Table &table_;
    Layout layout_;
    Index code_groups_ = 0;  // the first ones, copies of each other, if there are codes
    std::vector<Digit> digits_;
    std::vector<Group> groups_;
    std::vector<Run> runs_;
    std::vector<Buffer<Slot>> run_data_;
    std::vector<Buffer<std::uint16_t>> short_run_data_;
    std::vector<Section> sections_;
    std::vector<Reals> reals_;
    std::vector<Words> words_;
    std::vector<Buffer<double>> weights_;  // of reals, their centers, then of words
    Buffer<double> lookup_table_;
    Buffer<std::uint32_t> sketch_;
    Index slots_ = 0, own_size_ = 0, words_size_ = 0, words_from_ = 0;
    Index scratch_values_ = 0, chunk_ = 1, stripes_ = 1;
    double work_ = 0;
};

}  // namespace misnomer
