/* SPDX-License-Identifier: Apache-2.0 */
#include "elements.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace ai_run {

namespace {

template <typename T> T load(std::span<const std::byte> data, std::size_t i)
{
    T value;

    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    return value;
}

Value from_float16(std::uint16_t bits)
{
    unsigned exponent = bits >> 10 & 0x1f;
    unsigned fraction = bits & 0x3ff;
    Value sign = bits & 0x8000 ? -1 : 1;

    if (exponent == 0x1f)
        return fraction ? std::numeric_limits<Value>::quiet_NaN()
                        : sign * std::numeric_limits<Value>::infinity();
    if (exponent == 0)
        return sign * std::ldexp(static_cast<Value>(fraction), -24);
    return sign * std::ldexp(static_cast<Value>(fraction | 0x400), static_cast<int>(exponent) - 25);
}

Value from_bfloat16(std::uint16_t bits)
{
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

} // namespace

std::size_t values_per_element(ai::DType dtype)
{
    return dtype == ai::DType::kComplex64 || dtype == ai::DType::kComplex128 ? 2 : 1;
}

Value value_at(ai::DType dtype, std::span<const std::byte> data, std::size_t i)
{
    switch (dtype) {
    case ai::DType::kFloat32:
    case ai::DType::kComplex64:
        return load<float>(data, i);
    case ai::DType::kFloat64:
    case ai::DType::kComplex128:
        return load<double>(data, i);
    case ai::DType::kUint8:
    case ai::DType::kBool:
        return load<std::uint8_t>(data, i);
    case ai::DType::kInt8:
        return load<std::int8_t>(data, i);
    case ai::DType::kUint16:
        return load<std::uint16_t>(data, i);
    case ai::DType::kInt16:
        return load<std::int16_t>(data, i);
    case ai::DType::kUint32:
        return load<std::uint32_t>(data, i);
    case ai::DType::kInt32:
        return load<std::int32_t>(data, i);
    case ai::DType::kUint64:
        return static_cast<Value>(load<std::uint64_t>(data, i));
    case ai::DType::kInt64:
        return static_cast<Value>(load<std::int64_t>(data, i));
    case ai::DType::kFloat16:
        return from_float16(load<std::uint16_t>(data, i));
    case ai::DType::kBfloat16:
        return from_bfloat16(load<std::uint16_t>(data, i));
    default:
        return std::numeric_limits<Value>::quiet_NaN();
    }
}

} // namespace ai_run
