/* SPDX-License-Identifier: Apache-2.0 */
#include "dump_reader.h"

#include <cerrno>
#include <string>

namespace aictl {

namespace {

/* Of the first format: less cannot be a header. */
constexpr std::size_t kHeaderBytes = sizeof(ai_dump_header);
constexpr std::uint32_t kSectionVersion = 1;
/* Far more than any kernel writes; but of texts, whose elements are characters. */
constexpr std::uint64_t kMostElements = 65536;

ai::Error broken(std::size_t at, const std::string& what)
{
    return {EBADMSG, "the dump is broken at byte " + std::to_string(at) + ": " + what};
}

ai::Result<ai_dump_header> parse_header(std::span<const std::byte> bytes)
{
    ai_dump_header header{};

    if (bytes.size() < kHeaderBytes)
        return broken(bytes.size(),
                      "it ends there, a header has " + std::to_string(kHeaderBytes) + " bytes");
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.magic != AI_DUMP_MAGIC)
        return broken(0, "it does not begin with AI0DUMP");
    if (header.format != AI_DUMP_FORMAT)
        return ai::Error{EOPNOTSUPP, "the dump has format " + std::to_string(header.format) +
                                         ", this program knows " + std::to_string(AI_DUMP_FORMAT)};
    if (header.header_bytes < kHeaderBytes || header.header_bytes > bytes.size())
        return broken(offsetof(ai_dump_header, header_bytes),
                      "the header is said to have " + std::to_string(header.header_bytes) +
                          " bytes");
    if (header.total_bytes < header.header_bytes || header.total_bytes > bytes.size())
        return broken(offsetof(ai_dump_header, total_bytes),
                      "it is said to have " + std::to_string(header.total_bytes) + " bytes, " +
                          std::to_string(bytes.size()) + " are there");
    return header;
}

ai::Result<DumpSection> parse_section(std::span<const std::byte> bytes, std::size_t at)
{
    ai_dump_section raw{};

    if (bytes.size() - at < sizeof(raw))
        return broken(at, "half a section");
    std::memcpy(&raw, bytes.data() + at, sizeof(raw));
    std::size_t left = bytes.size() - at - sizeof(raw);
    if (raw.bytes > left)
        return broken(at, "section " + std::to_string(raw.type) + " is said to have " +
                              std::to_string(raw.bytes) + " bytes, " + std::to_string(left) +
                              " are left");
    if (!raw.element_bytes || raw.count > raw.bytes / raw.element_bytes)
        return broken(at, "section " + std::to_string(raw.type) + " is said to have " +
                              std::to_string(raw.count) + " elements of " +
                              std::to_string(raw.element_bytes) + " bytes in " +
                              std::to_string(raw.bytes));
    if (raw.type != AI_DUMP_FIRMWARE_LOG && raw.count > kMostElements)
        return broken(at, "section " + std::to_string(raw.type) + " is said to have " +
                              std::to_string(raw.count) + " elements, the most is " +
                              std::to_string(kMostElements));
    return DumpSection{raw.type,
                       raw.version,
                       raw.flags,
                       raw.element_bytes,
                       raw.count,
                       raw.omitted,
                       bytes.subspan(at + sizeof(raw), raw.count * raw.element_bytes)};
}

} // namespace

ai::Result<Dump> Dump::parse(std::span<const std::byte> bytes)
{
    Dump dump;
    ai::Result<ai_dump_header> header = parse_header(bytes);
    if (!header)
        return std::move(header).error();
    dump.header_ = *header;

    bytes = bytes.first(header->total_bytes);
    std::size_t at = header->header_bytes;
    while (at < bytes.size()) {
        ai::Result<DumpSection> section = parse_section(bytes, at);
        if (!section)
            return std::move(section).error();
        ai_dump_section raw{};
        std::memcpy(&raw, bytes.data() + at, sizeof(raw));
        at += sizeof(raw) + raw.bytes;
        dump.sections_.push_back(*section);
    }
    return dump;
}

const DumpSection* Dump::section(ai_dump_type type) const
{
    auto found = std::ranges::find_if(sections_, [&](const DumpSection& each) {
        return each.type == type && each.version == kSectionVersion;
    });

    return found == sections_.end() ? nullptr : &*found;
}

} // namespace aictl
