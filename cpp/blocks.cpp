#include "blocks.hpp"

#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace misnomer {

namespace {

Number number_of(const AnyList &array) {
    const auto type = array.dtype();
    if (type == nb::dtype<double>()) return Number::f64;
    if (type == nb::dtype<float>()) return Number::f32;
    if (type == nb::dtype<std::int64_t>()) return Number::i64;
    if (type == nb::dtype<std::uint64_t>()) return Number::u64;
    if (type == nb::dtype<std::int32_t>()) return Number::i32;
    if (type == nb::dtype<std::uint32_t>()) return Number::u32;
    if (type == nb::dtype<std::int16_t>()) return Number::i16;
    if (type == nb::dtype<std::uint16_t>()) return Number::u16;
    if (type == nb::dtype<std::int8_t>()) return Number::i8;
    if (type == nb::dtype<std::uint8_t>()) return Number::u8;
    throw std::invalid_argument("Word counts of this type cannot be read: use float64.");
}

template <class Integer>
void check_starts(const AnyList &starts, Index cells) {
    const auto *start = static_cast<const Integer *>(starts.data());
    bool sound = start[0] >= 0 && start[starts.size() - 1] <= cells;
    for (std::size_t i = 1; i < starts.size(); ++i) sound &= start[i - 1] <= start[i];
    if (!sound)
        throw std::invalid_argument(
            "The row starts (indptr) of a matrix of words are damaged: rebuild the matrix.");
}

}  // namespace

template <class View>
void Blocks::keep(const View &array) {
    arrays_.emplace_back(array);
}

template <class View>
void Blocks::keep_rows(const View &array) {
    if (static_cast<Index>(array.shape(0)) != rows)
        throw std::invalid_argument("A block has " + std::to_string(array.shape(0)) +
                                    " rows where " + std::to_string(rows) + " are expected.");
    keep(array);
}

void Blocks::add_codes(const AnyRows &array, std::vector<Slot> sizes) {
    if (array.shape(1) != sizes.size())
        throw std::invalid_argument("There must be one size for each column of codes.");
    keep_rows(array);
    const Index statistic = width;
    for (const Slot size : sizes) width += size;
    codes.push_back(
        {array.data(), static_cast<int>(array.itemsize()), std::move(sizes), statistic});
}

void Blocks::add_flags(const Bytes &bits, const std::optional<Bytes> &observed, Index columns) {
    const auto bytes = static_cast<std::size_t>((columns + 7) / 8);
    if (bits.shape(1) != bytes || (observed && observed->shape(1) != bytes))
        throw std::invalid_argument("Flags must be packed, eight columns to a byte.");
    keep_rows(bits);
    if (observed) keep_rows(*observed);
    flags.push_back({bits.data(), observed ? observed->data() : nullptr, columns, width});
    width += 2 * columns;
}

void Blocks::add_reals(const AnyRows &values, const Doubles &center) {
    if (values.shape(1) != center.shape(0))
        throw std::invalid_argument("There must be one center for each column of reals.");
    keep_rows(values);
    keep(center);
    const Index columns = values.shape(1);
    reals.push_back({values.data(), values.itemsize() == 4, center.data(), columns, width});
    width += 3 * columns;
}

void Blocks::add_words(const AnyList &data, const AnyList &indices, const AnyList &starts,
                       Index columns) {
    if (static_cast<Index>(starts.size()) != rows + 1 || data.size() != indices.size() ||
        indices.dtype() != starts.dtype())
        throw std::invalid_argument("The parts of a matrix of words do not fit together.");
    const bool wide = indices.dtype() == nb::dtype<std::int64_t>();
    if (!wide && indices.dtype() != nb::dtype<std::int32_t>())
        throw std::invalid_argument("The indices of a matrix of words must be int32 or int64.");
    const auto cells = static_cast<Index>(data.size());
    wide ? check_starts<std::int64_t>(starts, cells) : check_starts<std::int32_t>(starts, cells);
    const Number number = number_of(data);
    keep(data), keep(indices), keep(starts);
    words.push_back({data.data(), number, indices.data(), starts.data(), wide, columns, cells,
                     width});
    width += columns;
}

}  // namespace misnomer
