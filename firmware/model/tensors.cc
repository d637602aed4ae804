// SPDX-License-Identifier: GPL-2.0-only
#include "tensors.h"

#include <cstring>

namespace ai0::npu {

namespace {

struct TypeInfo {
    const char* name;
    std::uint32_t bytes;
};

constexpr TypeInfo kTypes[] = {
    {"undefined", 0},   {"float", 4},    {"uint8", 1},  {"int8", 1},   {"uint16", 2},
    {"int16", 2},       {"int32", 4},    {"int64", 8},  {"string", 0}, {"bool", 1},
    {"float16", 2},     {"double", 8},   {"uint32", 4}, {"uint64", 8}, {"complex64", 8},
    {"complex128", 16}, {"bfloat16", 2},
};

} // namespace

std::uint32_t element_bytes(std::uint32_t dtype)
{
    return dtype < std::size(kTypes) ? kTypes[dtype].bytes : 0;
}

const char* dtype_name(std::uint32_t dtype)
{
    return dtype < std::size(kTypes) ? kTypes[dtype].name : "an unknown type";
}

std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape)
{
    std::uint64_t count = 1;
    bool empty = false;

    for (std::int64_t dim : shape) {
        if (dim < 0)
            return std::nullopt;
        if (dim == 0)
            empty = true;
        else if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(dim), &count))
            return std::nullopt;
    }
    return empty ? 0 : count;
}

std::optional<std::uint64_t> tensor_bytes(std::span<const std::int64_t> shape, std::uint32_t dtype)
{
    std::optional<std::uint64_t> count = element_count(shape);
    std::uint64_t bytes = 0;

    if (!count || __builtin_mul_overflow(*count, element_bytes(dtype), &bytes))
        return std::nullopt;
    return bytes;
}

std::string shape_text(std::span<const std::int64_t> shape)
{
    std::string text = "[";

    for (std::size_t i = 0; i < shape.size(); i++) {
        if (i)
            text += ',';
        text += shape[i] < 0 ? "?" : std::to_string(shape[i]);
    }
    return text + "]";
}

std::optional<std::vector<std::string>> unpack_strings(std::span<const std::byte> data,
                                                       std::uint64_t count)
{
    if (count >= data.size() / sizeof(std::uint64_t))
        return std::nullopt;

    std::vector<std::uint64_t> offsets(count + 1);
    std::memcpy(offsets.data(), data.data(), offsets.size() * sizeof(std::uint64_t));
    std::span<const std::byte> characters = data.subspan(offsets.size() * sizeof(std::uint64_t));

    if (offsets.front() != 0 || offsets.back() != characters.size())
        return std::nullopt;
    std::vector<std::string> strings;
    strings.reserve(count);
    for (std::uint64_t i = 0; i < count; i++) {
        if (offsets[i] > offsets[i + 1] || offsets[i + 1] > characters.size())
            return std::nullopt;
        strings.emplace_back(reinterpret_cast<const char*>(characters.data()) + offsets[i],
                             offsets[i + 1] - offsets[i]);
    }
    return strings;
}

std::vector<std::byte> pack_strings(std::span<const std::string> strings)
{
    std::vector<std::uint64_t> offsets(1, 0);
    std::vector<std::byte> data;

    for (const std::string& text : strings)
        offsets.push_back(offsets.back() + text.size());
    data.resize(offsets.size() * sizeof(std::uint64_t) + offsets.back());
    std::memcpy(data.data(), offsets.data(), offsets.size() * sizeof(std::uint64_t));

    std::size_t at = offsets.size() * sizeof(std::uint64_t);
    for (const std::string& text : strings) {
        std::memcpy(data.data() + at, text.data(), text.size());
        at += text.size();
    }
    return data;
}

} // namespace ai0::npu
