// The blocks of a table, as NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <vector>

#include "table.hpp"

namespace misnomer {

template <class... Options>
using Array = nanobind::ndarray<nanobind::device::cpu, Options...>;
using AnyRows = Array<nanobind::ro, nanobind::ndim<2>, nanobind::c_contig>;
using AnyList = Array<nanobind::ro, nanobind::ndim<1>, nanobind::c_contig>;
using Bytes = Array<const std::uint8_t, nanobind::ndim<2>, nanobind::c_contig>;
using Doubles = Array<const double, nanobind::ndim<1>, nanobind::c_contig>;

// A table that keeps the arrays it points into.
class Blocks : public Table {
  public:
    explicit Blocks(Index n) { rows = n; }
    void add_codes(const AnyRows &codes, std::vector<Slot> sizes);
    void add_flags(const Bytes &bits, const std::optional<Bytes> &observed, Index columns);
    void add_reals(const AnyRows &values, const Doubles &center);
    void add_words(const AnyList &data, const AnyList &indices, const AnyList &starts,
                   Index columns);

  private:
    template <class View>
    void keep(const View &array);
    template <class View>
    void keep_rows(const View &array);

    std::vector<Array<nanobind::ro>> arrays_;
};

}  // namespace misnomer
