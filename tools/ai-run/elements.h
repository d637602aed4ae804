/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of any number type as values to calculate with. */
#pragma once

#include <cstddef>
#include <span>

#include <ai/dtype.h>

namespace ai_run {

/*
 * Wide enough for each 64-bit integer on x86: its fraction has 64 bits. A complex
 * number is two values, the real part first.
 */
using Value = long double;

/* Values an element consists of: 2 for complex numbers, else 1. */
std::size_t values_per_element(ai::DType dtype);

/* Value @i of @data. Not for strings. */
Value value_at(ai::DType dtype, std::span<const std::byte> data, std::size_t i);

} // namespace ai_run
