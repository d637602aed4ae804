/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Element types and shapes, and the two layouts of strings: ours (uapi/ai.h) and
 * ONNX Runtime's.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ai0::npu {

using Shape = std::vector<std::int64_t>;

/* Numbers of ONNX TensorProto.DataType, which are ONNX Runtime's too. */
inline constexpr std::uint32_t kString = 8;

/* Bytes of an element; 0 for a type the engine does not have, and for strings. */
std::uint32_t element_bytes(std::uint32_t dtype);

const char* dtype_name(std::uint32_t dtype);

/* Product of the dimensions, if none is negative and it fits. */
std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape);

/* element_count() times element_bytes(), if that fits. */
std::optional<std::uint64_t> tensor_bytes(std::span<const std::int64_t> shape, std::uint32_t dtype);

/* For people, for example [1,3,224,224]; a dimension that is free is written as ?. */
std::string shape_text(std::span<const std::int64_t> shape);

/*
 * Strings out of a table of offsets and characters. Nothing if it is not one of
 * @count strings.
 */
std::optional<std::vector<std::string>> unpack_strings(std::span<const std::byte> data,
                                                       std::uint64_t count);

/* The reverse, from characters that follow each other and where each begins. */
std::vector<std::byte> pack_strings(std::span<const std::string> strings);

} // namespace ai0::npu
