/* SPDX-License-Identifier: Apache-2.0 */
/* Element types. The numbers are those of ONNX's TensorProto.DataType. */
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <ai/export.h>

namespace ai {

enum class DType : std::uint32_t {
    kUndefined = 0,
    kFloat32 = 1,
    kUint8 = 2,
    kInt8 = 3,
    kUint16 = 4,
    kInt16 = 5,
    kInt32 = 6,
    kInt64 = 7,
    kString = 8, /* a table of offsets and characters, see Tensor::strings() */
    kBool = 9,   /* one byte, 0 or 1 */
    kFloat16 = 10,
    kFloat64 = 11,
    kUint32 = 12,
    kUint64 = 13,
    kComplex64 = 14,  /* two 32-bit floats */
    kComplex128 = 15, /* two 64-bit floats */
    kBfloat16 = 16,
};

/* Bits of an IEEE 754 16-bit number; C++20 has no arithmetic for it. */
struct Float16 {
    std::uint16_t bits;
};

/* The upper half of a 32-bit float. */
struct Bfloat16 {
    std::uint16_t bits;
};

/* Bytes of an element; 0 for strings and for what is no element type. */
LIBAI_API std::size_t element_bytes(DType dtype);

/* For example "float32"; "undefined" for what is no element type. */
LIBAI_API const char* dtype_name(DType dtype);

/* The reverse; takes "float" and "double", too. */
LIBAI_API std::optional<DType> dtype_from_name(std::string_view name);

/* The DType whose elements are of C++ type T; kUndefined for any other type. */
template <typename T> inline constexpr DType dtype_of = DType::kUndefined;
template <> inline constexpr DType dtype_of<float> = DType::kFloat32;
template <> inline constexpr DType dtype_of<double> = DType::kFloat64;
template <> inline constexpr DType dtype_of<std::uint8_t> = DType::kUint8;
template <> inline constexpr DType dtype_of<std::int8_t> = DType::kInt8;
template <> inline constexpr DType dtype_of<std::uint16_t> = DType::kUint16;
template <> inline constexpr DType dtype_of<std::int16_t> = DType::kInt16;
template <> inline constexpr DType dtype_of<std::uint32_t> = DType::kUint32;
template <> inline constexpr DType dtype_of<std::int32_t> = DType::kInt32;
template <> inline constexpr DType dtype_of<std::uint64_t> = DType::kUint64;
template <> inline constexpr DType dtype_of<std::int64_t> = DType::kInt64;
template <> inline constexpr DType dtype_of<bool> = DType::kBool;
template <> inline constexpr DType dtype_of<Float16> = DType::kFloat16;
template <> inline constexpr DType dtype_of<Bfloat16> = DType::kBfloat16;
template <> inline constexpr DType dtype_of<std::complex<float>> = DType::kComplex64;
template <> inline constexpr DType dtype_of<std::complex<double>> = DType::kComplex128;

} // namespace ai
