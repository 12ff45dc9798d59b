// Parts of the module that are defined in files of their own.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

namespace misnomer {

void add_shares(nanobind::module_ &m);

}  // namespace misnomer
