#include "plan.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace misnomer {

namespace {

constexpr Index most_folded = 4;            // columns of a group
constexpr Index group_bytes = 1 << 13;      // of the table of a group of several columns
constexpr Index section_bytes = 256 << 10;  // of the tables that are read in one go
constexpr Index chunk_bytes = 96 << 10;     // of what is remembered of the rows of a chunk
constexpr Index folded_bytes = 1 << 20;     // of all tables of groups of several columns
constexpr Index most_stripes = 64;
constexpr Index code_copies = 4;

// Whether tables of so many rows are worth their making, and small enough.
bool pays(Index table_rows, Index width, Index rows) {
    return table_rows * 8 <= rows && table_rows * width * 8 <= folded_bytes;
}

// How many columns, from the given one on, make tables of at most `limit` rows together.
Index fold_from(const std::vector<Slot> &sizes, Index column, Index limit) {
    const Index end = std::min<Index>(sizes.size(), column + most_folded);
    Index rows = Index{sizes[column]} + 1, at = column + 1;
    for (; at < end && rows * (Index{sizes[at]} + 1) <= limit; ++at) rows *= Index{sizes[at]} + 1;
    return at - column;
}

Index folded_rows(const std::vector<Slot> &sizes, Index limit) {
    Index total = 0;
    for (Index column = 0; column < static_cast<Index>(sizes.size());) {
        const Index fold = fold_from(sizes, column, limit);
        Index rows = 1;
        for (Index f = 0; f < fold; ++f) rows *= Index{sizes[column + f]} + 1;
        total += rows, column += fold;
    }
    return total;
}

}  // namespace

Plan::Plan(const Table &table, Layout layout, const std::int32_t *codes, Index n_codes, int lanes)
    : table_(table), layout_(layout) {
    if (codes != nullptr) add_row_codes(codes, n_codes);
    for (const auto &block : table.codes) add_codes(block);
    for (const auto &block : table.flags) add_flags(block);
    for (const auto &block : table.reals) add_reals(block, lanes);
    for (const auto &block : table.words) add_words(block);
    if (slots_ > std::numeric_limits<Slot>::max() / layout.stride)
        throw std::length_error("The columns have too many categories to be counted at once.");
    cut_sections();
    choose_chunk();
    place_sums();
    choose_stripes();
}

// The rows' codes are one more column, whose statistics belong to another matrix. Successive
// rows use copies of its table in turn: a sum can be added to only once the last addition is done.
void Plan::add_row_codes(const std::int32_t *codes, Index n_codes) {
    for (int copy = 0; copy < code_copies; ++copy) {
        const Index first_digit = digits_.size();
        digits_.push_back({n_codes + 1, 1, 0, n_codes, 0, -1});
        add_group(first_digit);
    }
    Run run{Cells::code32, codes, nullptr, 1, 1, 1, 1, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
    code_groups_ = groups();
    add_run(run, 0, code_copies);
}

void Plan::add_codes(const CodesBlock &block) {
    const Index columns = block.sizes.size(), width = layout_.width();
    Index limit = group_bytes / (8 * width);
    if (!pays(folded_rows(block.sizes, limit), width, table_.rows)) limit = 0;
    const Cells cells = block.bytes == 1   ? Cells::code8
                        : block.bytes == 2 ? Cells::code16
                                           : Cells::code32;
    Index statistic = block.statistic;
    for (Index column = 0; column < columns;) {
        const Index fold = fold_from(block.sizes, column, limit), first_group = groups();
        const auto *source = static_cast<const std::uint8_t *>(block.codes);
        Run run{cells, source + column * block.bytes, nullptr, columns, static_cast<int>(fold), 0,
                1, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
        while (column < columns && fold_from(block.sizes, column, limit) == fold) {
            const Index first_digit = digits_.size();
            for (Index f = 0; f < fold; ++f, ++column) {
                const Index size = block.sizes[column];
                digits_.push_back({size + 1, 0, 0, size, statistic, -1});
                statistic += size;
            }
            add_group(first_digit);
        }
        add_run(run, first_group);
    }
}

void Plan::add_flags(const FlagsBlock &block) {
    if (block.observed == nullptr)
        return add_bits(block, block.bits, block.statistic + block.columns, true);
    add_bits(block, block.observed, block.statistic, false);
    add_bits(block, block.bits, block.statistic + block.columns, false);
}

// Every group is a byte, or half of one where tables of 256 rows do not pay.
void Plan::add_bits(const FlagsBlock &block, const std::uint8_t *bits, Index statistic,
                    bool always) {
    const Index bytes = (block.columns + 7) / 8, first_group = groups();
    const Index step = pays(bytes * 256, layout_.width(), table_.rows) ? 8 : 4;
    for (Index column = 0; column < 8 * bytes; column += step) {
        const Index first_digit = digits_.size();
        for (Index j = column; j < std::min(column + step, block.columns); ++j)
            digits_.push_back({2, 0, 1, 1, statistic + j, always ? block.statistic + j : -1});
        add_group(first_digit);
    }
    const bool masked = block.observed != nullptr && bits != block.observed;
    Run run{step == 8 ? Cells::byte : Cells::nibble, bits, masked ? block.observed : nullptr,
            bytes, 1, 0, 1, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
    add_run(run, first_group);
}

// Take the digits from the given one on as a group. The first of them counts least.
void Plan::add_group(Index first_digit) {
    Index rows = 1;
    for (Index i = first_digit; i < static_cast<Index>(digits_.size()); ++i) {
        digits_[i].factor = rows;
        rows *= digits_[i].radix;
    }
    groups_.push_back({slots_, rows, first_digit, static_cast<Index>(digits_.size())});
    slots_ += rows;
}

// Take the groups from the given one on as a run, and spell out what the kernels need of them.
// Where they are copies of each other, each row uses the next one.
void Plan::add_run(Run run, Index first_group, Index copies) {
    const bool flags = run.cells == Cells::byte || run.cells == Cells::nibble;
    const Index per_row = (groups() - first_group) / copies, stride = layout_.stride;
    const Index per_cell = run.cells == Cells::nibble ? 2 : 1;
    if (per_row * run.fold == run.stride * per_cell)  // nothing else is stored between the rows
        run.repeat = static_cast<int>(std::clamp<Index>(256 / std::max<Index>(per_row, 1), 1, 64));
    run.groups = static_cast<int>(per_row);
    run.scratch = first_group;
    const Index n = run.repeat * per_row;
    Buffer<Slot> data((2 * run.fold + 1) * n);
    for (Index g = 0; g < n; ++g) {
        const Group &group = groups_[first_group + g % (copies * per_row)];
        for (Index f = 0; f < run.fold; ++f) {
            const Digit *digit = flags ? nullptr : &digits_[group.first + f];
            data[f * n + g] = static_cast<Slot>((flags ? group.rows : digit->radix) - 1);
            data[(run.fold + f) * n + g] =
                static_cast<Slot>((flags ? 1 : digit->factor) * stride);
        }
        data[2 * run.fold * n + g] = static_cast<Slot>(group.base * stride);
    }
    run.limit = data.data();
    run.factor = run.limit + run.fold * n;
    run.base = run.factor + run.fold * n;
    Index most = 0;
    for (Index g = first_group; g < groups(); ++g) most = std::max(most, groups_[g].rows);
    if (run.cells != Cells::code32 && most * stride <= std::numeric_limits<std::uint16_t>::max()) {
        Buffer<std::uint16_t> narrow(2 * run.fold * n);
        for (Index i = 0; i < 2 * run.fold * n; ++i) narrow[i] = static_cast<std::uint16_t>(data[i]);
        run.short_limit = narrow.data();
        run.short_factor = run.short_limit + run.fold * n;
        short_run_data_.push_back(std::move(narrow));
    }
    runs_.push_back(run);
    run_data_.push_back(std::move(data));
}

void Plan::add_reals(const RealsBlock &block, int lanes) {
    const int columns = static_cast<int>(block.columns);
    const int padded = (columns + lanes - 1) / lanes * lanes, step = std::max(columns, lanes);
    Buffer<double> center(step);
    std::copy_n(block.center, columns, center.data());
    reals_.push_back({block.values, block.single, center.data(), columns, step, padded,
                      step - lanes, nullptr, nullptr, 0, scratch_values_});
    weights_.push_back(std::move(center));
    scratch_values_ += step;
}

void Plan::add_words(const WordsBlock &block) {
    words_.push_back({block.data, block.number, block.indices, block.starts, block.wide,
                      block.columns, block.cells, nullptr, 0, nullptr});
}

void Plan::cut_sections() {
    const int first_run = code_groups_ > 0 ? 1 : 0;
    Index first_group = code_groups_;
    for (int r = first_run; r < static_cast<int>(runs_.size()); ++r) {
        Index bytes = 0;
        for (int g = 0; g < runs_[r].groups; ++g) {
            const Index own = groups_[first_group + g].rows * layout_.stride * 8;
            if (g == 0 || bytes + own > section_bytes) {
                sections_.push_back({r, g, g, false});
                bytes = 0;
            }
            bytes += own;
            sections_.back().last = g + 1;
        }
        first_group += runs_[r].groups;
    }
    if (code_groups_ == 0) return;
    if (sections_.empty()) sections_.push_back({0, 0, 0, true});
    sections_.front().with_code = true;
}

void Plan::choose_chunk() {
    const Index bytes = 8 * (layout_.stride + scratch_values_) + 4 * groups();
    chunk_ = std::clamp<Index>(chunk_bytes / bytes / tile_rows * tile_rows, tile_rows, 256);
    for (Run &run : runs_) run.scratch *= chunk_;
    for (Reals &block : reals_) block.scratch *= chunk_;
}

void Plan::place_sums() {
    const Index width = layout_.width(), classes = layout_.classes;
    own_size_ = slots_ * width;
    for (Reals &block : reals_) {
        block.sums = own_size_;
        own_size_ += classes + 3 * classes * block.padded;
    }
    if (!words_.empty()) words_from_ = table_.words.front().statistic;
    for (std::size_t b = 0; b < words_.size(); ++b) {
        const Index from = table_.words[b].statistic - words_from_;  // blocks between leave a gap
        words_[b].sums = from * width;
        words_size_ = (from + words_[b].columns) * width;
    }
}

// A stripe must be long enough that adding up its sums costs little beside it.
void Plan::choose_stripes() {
    constexpr double worth = 200;
    double cells = static_cast<double>(groups() + 3 * scratch_values_) * table_.rows;
    for (const auto &block : table_.words) cells += static_cast<double>(block.cells);
    const double sums = static_cast<double>(own_size_ + words_size_) / layout_.width() + 1;
    work_ = cells * layout_.width();
    stripes_ = std::clamp<Index>(static_cast<Index>(cells / (worth * sums)), 1, most_stripes);
}

Call Plan::call() const {
    Call call{};
    call.classes = layout_.classes;
    call.scored = layout_.scored;
    call.stride = layout_.stride;
    call.lookups = {runs_.data(),     static_cast<int>(runs_.size()),
                    sections_.data(), static_cast<int>(sections_.size()),
                    lookup_table_.data(), slots_, 0};
    call.reals = reals_.data();
    call.n_reals = static_cast<int>(reals_.size());
    call.words = words_.data();
    call.n_words = static_cast<int>(words_.size());
    return call;
}

}  // namespace misnomer
