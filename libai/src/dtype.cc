/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/dtype.h>

#include <array>

#include <ai/uapi/ai.h>

namespace ai {

namespace {

struct TypeRow {
    const char* name;
    std::size_t bytes;
};

constexpr std::array<TypeRow, 17> kTypes{{
    {"undefined", 0},
    {"float32", 4},
    {"uint8", 1},
    {"int8", 1},
    {"uint16", 2},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"string", 0},
    {"bool", 1},
    {"float16", 2},
    {"float64", 8},
    {"uint32", 4},
    {"uint64", 8},
    {"complex64", 8},
    {"complex128", 16},
    {"bfloat16", 2},
}};

constexpr bool same(DType dtype, ai_dtype number)
{
    return static_cast<std::uint32_t>(dtype) == static_cast<std::uint32_t>(number);
}

static_assert(same(DType::kFloat32, AI_DTYPE_FLOAT) && same(DType::kString, AI_DTYPE_STRING) &&
              same(DType::kBool, AI_DTYPE_BOOL) && same(DType::kFloat16, AI_DTYPE_FLOAT16) &&
              same(DType::kBfloat16, AI_DTYPE_BFLOAT16));

const TypeRow& row(DType dtype)
{
    auto number = static_cast<std::size_t>(dtype);

    return kTypes[number < kTypes.size() ? number : 0];
}

} // namespace

std::size_t element_bytes(DType dtype)
{
    return row(dtype).bytes;
}

const char* dtype_name(DType dtype)
{
    return row(dtype).name;
}

std::optional<DType> dtype_from_name(std::string_view name)
{
    if (name == "float")
        return DType::kFloat32;
    if (name == "double")
        return DType::kFloat64;
    for (std::uint32_t i = 1; i < kTypes.size(); i++)
        if (name == kTypes[i].name)
            return static_cast<DType>(i);
    return std::nullopt;
}

} // namespace ai
