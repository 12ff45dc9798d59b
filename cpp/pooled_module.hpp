#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

namespace misnomer {

void add_pooled(nanobind::module_ &m);

}  // namespace misnomer
