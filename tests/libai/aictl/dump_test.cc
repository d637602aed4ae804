/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and showing dumps: whole ones, cut ones, and ones with wrong bytes. */
#include <cerrno>
#include <cstring>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump_reader.h"
#include "dump_show.h"

namespace {

using aictl::Dump;
using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

template <typename T> void append(Bytes& to, const T& value)
{
    auto bytes = std::as_bytes(std::span(&value, 1));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

/* Writes a dump as the kernel does. */
class Maker {
public:
    Maker() { bytes_.resize(sizeof(ai_dump_header)); }

    template <typename T> void add(std::uint32_t type, const std::vector<T>& elements)
    {
        add_section(type, 1, sizeof(T), elements.size());
        for (const T& element : elements)
            append(bytes_, element);
        end();
    }

    void add_text(const std::string& text)
    {
        add_section(AI_DUMP_FIRMWARE_LOG, 1, 1, text.size());
        for (char c : text)
            append(bytes_, c);
        end();
    }

    void add_section(std::uint32_t type, std::uint32_t version, std::uint32_t element_bytes,
                     std::uint64_t count)
    {
        std::uint64_t bytes = (element_bytes * count + 7) / 8 * 8;

        sections_++;
        append(bytes_, ai_dump_section{type, version, 0, element_bytes, count, 0, bytes});
    }

    void end() { bytes_.resize((bytes_.size() + 7) / 8 * 8); }

    Bytes& done()
    {
        ai_dump_header header{};
        header.magic = AI_DUMP_MAGIC;
        header.format = AI_DUMP_FORMAT;
        header.header_bytes = sizeof(header);
        header.total_bytes = bytes_.size();
        header.sections = sections_;
        header.flags = AI_DUMP_F_FULL;
        header.absent = 1ULL << AI_DUMP_REGISTERS;
        std::strcpy(header.name, "npu0");
        std::strcpy(header.reason, "the firmware \x1b[31mcrashed");
        std::memcpy(bytes_.data(), &header, sizeof(header));
        return bytes_;
    }

private:
    Bytes bytes_;
    std::uint32_t sections_ = 0;
};

/* A section of each kind. */
Bytes whole()
{
    Maker maker;
    ai_dump_device device{};
    ai_dump_contract contract{};
    ai_dump_job job{};
    ai_dump_pte pte{};

    std::strcpy(device.name, "npu0");
    device.health = AI_HEALTH_FAILED;
    contract.info.id = 7;
    contract.info.nr_memory = AI_MAX_CONTRACT_MEMORY + 5; /* more than there can be */
    std::strcpy(contract.info.name, "camera");
    job.job = 41;
    job.state = AI_DUMP_JOB_IN_FLIGHT;
    job.flags = AI_DUMP_JOB_CLAIMED | AI_DUMP_JOB_RERUN;
    std::memset(job.model_name, 'm', sizeof(job.model_name)); /* no NUL */
    pte.entry = 0x1fff013;
    pte.flags = AI_DUMP_PTE_VALID | AI_DUMP_PTE_READ;
    maker.add(AI_DUMP_DEVICE, std::vector{device});
    maker.add(AI_DUMP_SENSORS, std::vector{ai_dump_sensors{41500, 70000, 1, 2, 3, 4, 1, 5}});
    maker.add(AI_DUMP_DRIVER, std::vector{ai_dump_value{"resets.firmware", 0, 3}});
    maker.add(AI_DUMP_QUEUE, std::vector{job});
    maker.add(AI_DUMP_CONTRACTS, std::vector{contract});
    maker.add(AI_DUMP_EVENTS,
              std::vector{ai_dump_event{7, {1, 2, AI_EVENT_LATENCY, 128, 41, 30, 20, 0, 0, 0}}});
    maker.add(AI_DUMP_DECISIONS,
              std::vector{ai_dump_decision{1, 2, AI_DECISION_REFUSED, 0, 7, 0, 9, 8, 0, 0},
                          ai_dump_decision{2, 3, 999, 0, 7, 0, 9, 8, 0, 0}});
    maker.add(AI_DUMP_TENSORS, std::vector{ai_dump_tensor{}});
    maker.add(AI_DUMP_PTES, std::vector{pte});
    maker.add_text("boot\nassert failed\x07\n");
    return maker.done();
}

std::string shown(const Bytes& bytes)
{
    std::ostringstream out;
    aictl::show_dump(out, aictl::dump_json(Dump::parse(bytes).or_throw()));
    return out.str();
}

std::string refusal(const Bytes& bytes, int code = EBADMSG)
{
    ai::Result<Dump> dump = Dump::parse(bytes);
    EXPECT_FALSE(dump);
    if (dump)
        return "";
    EXPECT_EQ(dump.error().code, code);
    return dump.error().message;
}

template <typename T> void put(Bytes& bytes, std::size_t at, T value)
{
    std::memcpy(bytes.data() + at, &value, sizeof(value));
}

TEST(DumpTest, WholeAsJson)
{
    aictl::Json json = aictl::dump_json(Dump::parse(whole()).or_throw());

    EXPECT_EQ(json["dump_of"], "npu0");
    EXPECT_EQ(json["device"]["health"], "failed");
    EXPECT_EQ(json["sensors"]["temperature_mc"], 41500);
    EXPECT_EQ(json["queue"][0]["state"], "in flight");
    EXPECT_EQ(json["queue"][0]["flags"], "claimed,rerun");
    EXPECT_EQ(json["queue"][0]["model_name"], std::string(AI_NAME_LEN, 'm'));
    EXPECT_EQ(json["contracts"][0]["memory"].size(), AI_MAX_CONTRACT_MEMORY);
    EXPECT_EQ(json["events"][0]["found"], 30);
    EXPECT_EQ(json["decisions"][0]["decision"], "contract refused");
    EXPECT_EQ(json["decisions"][1]["decision"], 999);
    EXPECT_EQ(json["ptes"][0]["permissions"], "r-");
    EXPECT_EQ(json["absent"], aictl::Json({"registers"}));
}

TEST(DumpTest, WholeAsText)
{
    std::string text = shown(whole());

    EXPECT_THAT(text, HasSubstr("== firmware_log\nboot\nassert failed?\n"));
    EXPECT_THAT(text, HasSubstr("the firmware ?[31mcrashed"));
    EXPECT_THAT(text, HasSubstr("== contracts\n"));
}

TEST(DumpTest, LaterKernels)
{
    Maker maker;
    struct {
        ai_dump_sensors known;
        std::uint64_t later;
    } longer{{1, 2, 3, 4, 5, 6, 1, 8}, 0xffff};

    maker.add_section(60, 1, 8, 1); /* of a kind that is not known */
    maker.end();
    Bytes bytes = maker.done();
    bytes.resize(bytes.size() + 8);
    put(bytes, offsetof(ai_dump_header, total_bytes), std::uint64_t{bytes.size()});
    EXPECT_EQ(Dump::parse(bytes).or_throw().sections().size(), 1U);

    Maker more;
    more.add(AI_DUMP_SENSORS, std::vector{longer});
    more.add_section(AI_DUMP_QUEUE, 2, 8, 0); /* a version that is not known */
    Dump dump = Dump::parse(more.done()).or_throw();
    EXPECT_EQ(dump.section(AI_DUMP_SENSORS)->element<ai_dump_sensors>(0).throttles, 8U);
    EXPECT_EQ(dump.section(AI_DUMP_QUEUE), nullptr);

    Maker less;
    less.add(AI_DUMP_SENSORS, std::vector<std::int32_t>{77});
    const ai_dump_sensors sensors =
        Dump::parse(less.done()).or_throw().section(AI_DUMP_SENSORS)->element<ai_dump_sensors>(0);
    EXPECT_EQ(sensors.temp_mc, 77);
    EXPECT_EQ(sensors.throttles, 0U);
}

TEST(DumpTest, WhatIsWrongIsSaid)
{
    const std::size_t first = sizeof(ai_dump_header);
    Bytes bytes = whole();

    EXPECT_THAT(refusal({}), HasSubstr("at byte 0"));
    put(bytes, 0, 'X');
    EXPECT_THAT(refusal(bytes), HasSubstr("AI0DUMP"));
    bytes = whole();
    put(bytes, offsetof(ai_dump_header, format), 2U);
    EXPECT_THAT(refusal(bytes, EOPNOTSUPP), HasSubstr("format 2"));
    bytes = whole();
    put(bytes, offsetof(ai_dump_header, header_bytes), 8U);
    EXPECT_THAT(refusal(bytes), HasSubstr("header"));
    bytes = whole();
    put(bytes, offsetof(ai_dump_header, total_bytes), ~0ULL);
    EXPECT_THAT(refusal(bytes), HasSubstr("18446744073709551615"));
    bytes = whole();
    put(bytes, first + offsetof(ai_dump_section, bytes), ~0ULL);
    EXPECT_THAT(refusal(bytes), HasSubstr("at byte " + std::to_string(first)));
    bytes = whole();
    put(bytes, first + offsetof(ai_dump_section, count), 1ULL << 61);
    EXPECT_THAT(refusal(bytes), HasSubstr("elements"));
    bytes = whole();
    put(bytes, first + offsetof(ai_dump_section, element_bytes), 0U);
    EXPECT_THAT(refusal(bytes), HasSubstr("elements of 0 bytes"));
}

/* Cut anywhere it is refused, and as the header wants it, at a section's end at most. */
TEST(DumpTest, Truncated)
{
    const Bytes bytes = whole();

    for (std::size_t size = 0; size < bytes.size(); size++) {
        Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_FALSE(Dump::parse(cut));
        if (size < sizeof(ai_dump_header))
            continue;
        put(cut, offsetof(ai_dump_header, total_bytes), std::uint64_t{size});
        if (ai::Result<Dump> dump = Dump::parse(cut))
            shown(cut);
    }
}

TEST(DumpTest, Mutated)
{
    const Bytes bytes = whole();
    std::mt19937_64 random(20241203);
    int good = 0;

    for (int round = 0; round < 3000; round++) {
        Bytes other = bytes;
        for (auto left = random() % 4 + 1; left; left--)
            other[random() % other.size()] = static_cast<std::byte>(random());
        if (ai::Result<Dump> dump = Dump::parse(other)) {
            shown(other);
            good++;
        }
    }
    EXPECT_GT(good, 10);
}

} // namespace
