/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a dump: every length is checked against what there is, none is believed. */
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ai/result.h>
#include <ai/uapi/ai_dump.h>

namespace aictl {

/* A section of a dump; points into the bytes of the dump. */
struct DumpSection {
    std::uint32_t type;
    std::uint32_t version;
    std::uint32_t flags;
    std::uint32_t element_bytes;
    std::uint64_t count;
    std::uint64_t omitted; /* elements that are not there for want of room */
    std::span<const std::byte> elements;

    /* Element @i: what an older kernel did not write is zero. */
    template <typename T> T element(std::uint64_t i) const
    {
        static_assert(std::is_trivially_copyable_v<T>);
        assert(i < count);
        T value{};
        std::memcpy(&value, elements.data() + i * element_bytes,
                    std::min<std::size_t>(element_bytes, sizeof(T)));
        return value;
    }

    std::string_view text() const
    {
        return {reinterpret_cast<const char*>(elements.data()), elements.size()};
    }
};

/* A text of a dump: up to its NUL, which may be missing. */
template <std::size_t N> std::string_view dump_text(const char (&text)[N])
{
    return {text, ::strnlen(text, N)};
}

class Dump {
public:
    /*
     * EBADMSG, with the position: it is not a dump, or not a whole one; EOPNOTSUPP: it
     * is in a format of later. @bytes must stay for as long as the result is used.
     */
    static ai::Result<Dump> parse(std::span<const std::byte> bytes);

    const ai_dump_header& header() const { return header_; }
    const std::vector<DumpSection>& sections() const { return sections_; }
    /* Null if it is not there, or in a version of later. */
    const DumpSection* section(ai_dump_type type) const;

private:
    Dump() = default;

    ai_dump_header header_{};
    std::vector<DumpSection> sections_;
};

} // namespace aictl
