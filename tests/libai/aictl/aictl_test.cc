/* SPDX-License-Identifier: Apache-2.0 */
/* aictl on a fake kernel. */
#include <cerrno>
#include <sstream>

#include "../fixture.h"

#include "commands.h"
#include "kernel_tables.h"
#include "options.h"
#include "table.h"

namespace {

using aictl::Json;
using testing::HasSubstr;
using testing::Not;

ai::Result<aictl::Options> parse(const std::vector<std::string>& words)
{
    std::vector<std::string> copy{"aictl"};
    std::vector<char*> argv;

    copy.insert(copy.end(), words.begin(), words.end());
    argv.reserve(copy.size() + 1);
    for (std::string& word : copy)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    return aictl::parse_options(std::span(argv).first(copy.size()));
}

class AictlTest : public WithKernel {
protected:
    ai::Session session = open();

    AictlTest()
    {
        ai_device_info npu = device_info(AI_DEVICE(AI_CLASS_NPU, 0), "npu0");
        std::strncpy(npu.product, "a \x1b[31mdevice", sizeof(npu.product) - 1);
        npu.bandwidth = 1000000000;
        npu.reserved_bandwidth = 250000000;
        npu.temp_mc = 41500;
        kernel->devices = {device_info(AI_DEVICE(AI_CLASS_GPU, 1), "gpu1"), npu};
    }

    /* What the command prints; an error is rethrown. */
    std::string run(const std::vector<std::string>& words) { return result(words).or_throw(); }

    ai::Result<std::string> result(const std::vector<std::string>& words)
    {
        aictl::Options options = parse(words).or_throw();
        std::ostringstream out;
        return aictl::find_command(options.command)->run({session, options, out}).and_then([&] {
            return ai::Result<std::string>(out.str());
        });
    }

    ai::Contract contract(const char* terms)
    {
        return ai::Contract::create(session, ai::parse_terms(terms).or_throw()).or_throw();
    }
};

TEST(AictlOptions, SaysWhatIsWrong)
{
    auto message = [](const std::vector<std::string>& words) {
        return parse(words).error().message;
    };

    EXPECT_THAT(message({}), HasSubstr("no command"));
    EXPECT_THAT(message({"nonsense"}), HasSubstr("'nonsense' is no command"));
    EXPECT_THAT(message({"devices", "--nonsense"}), HasSubstr("--nonsense is no option"));
    EXPECT_THAT(message({"events", "--since", "x"}), HasSubstr("--since is 'x'"));
    EXPECT_THAT(message({"events", "--since"}), HasSubstr("is given no value"));
    EXPECT_THAT(message({"devices", "--follow"}), HasSubstr("for aictl events"));
    EXPECT_THAT(message({"events", "--names"}), HasSubstr("for aictl contracts"));
    EXPECT_THAT(message({"gpt", "x"}), HasSubstr("'x' is too much"));
    EXPECT_TRUE(parse({"--help"}));
    EXPECT_TRUE(parse({"gpt", "--help"})->help);
    EXPECT_TRUE(parse({"--version"})->version);
}

TEST(AictlOptions, HelpNamesEachCommand)
{
    for (const aictl::Command& command : aictl::all_commands()) {
        EXPECT_THAT(aictl::usage(), HasSubstr(command.name));
        EXPECT_THAT(aictl::usage(command.name), HasSubstr(command.summary));
    }
}

TEST_F(AictlTest, Devices)
{
    Json json = Json::parse(run({"devices", "--json"}));
    ASSERT_EQ(json.size(), 2U);
    EXPECT_EQ(json[1]["name"], "npu0");
    EXPECT_EQ(json[1]["temperature_mc"], 41500);
    EXPECT_EQ(json[1]["reserved_bandwidth_bytes_per_s"], 250000000);
    EXPECT_EQ(json[0]["class"], "gpu");

    std::string table = run({"devices"});
    EXPECT_THAT(table, HasSubstr("41.5/0.0"));
    EXPECT_THAT(table, HasSubstr("250MB/s/1GB/s"));
    EXPECT_THAT(table, Not(HasSubstr("\x1b")));
    EXPECT_EQ(std::ranges::count(table, '\n'), 3);
    EXPECT_EQ(std::ranges::count(run({"devices", "--no-header", "gpu1"}), '\n'), 1);
    EXPECT_EQ(result({"devices", "npu7"}).error().code, ENOENT);
}

TEST_F(AictlTest, Contracts)
{
    EXPECT_EQ(Json::parse(run({"contracts", "--json"})), Json::array());
    ai::Contract first = contract("name=camera device=npu0 energy<=1J memory(npu0)>=2MiB");
    ai::Contract second = contract("name=door memory(system)>=1MiB");
    ai::Contract third = contract("name=camera device=npu0 energy<=2J");
    kernel->figures.jobs = 12;
    kernel->figures.latency_p99_ns = 1500000;
    kernel->figures.moved = AI_TERM_ENERGY;

    Json json = Json::parse(run({"contracts", "--json"}));
    ASSERT_EQ(json.size(), 3U);
    EXPECT_EQ(json[0]["name"], "camera");
    EXPECT_EQ(json[0]["jobs"], 12);
    EXPECT_EQ(json[0]["latency_p99_ns"], 1500000);
    EXPECT_EQ(json[0]["moved"], "energy");
    EXPECT_EQ(json[0]["terms"]["energy_uj"], 1000000);
    EXPECT_EQ(json[0]["terms"]["memory"][0]["bytes"], 2 << 20);
    EXPECT_EQ(json[1]["terms"]["device"], Json());
    EXPECT_EQ(run({"contracts", "--names"}), "camera\ndoor\n");
    EXPECT_EQ(Json::parse(run({"contracts", "--json", "camera"})).size(), 2U);
    EXPECT_EQ(Json::parse(run({"contracts", "--json", "2"})).size(), 1U);
    EXPECT_THAT(run({"contracts"}), HasSubstr("1.50ms"));
    EXPECT_THAT(run({"contracts", "1"}), HasSubstr("energy<=1J memory(npu0)>=2MiB"));
    EXPECT_THAT(result({"contracts", "gate"}).error().message, HasSubstr("camera, door"));
}

TEST_F(AictlTest, Events)
{
    ai::Contract first = contract("name=camera device=npu0 energy<=1J");
    for (std::uint64_t i = 5; i <= 7; i++) {
        ai_event event{};
        event.sequence = i;
        event.kind = AI_EVENT_ENERGY;
        event.term = AI_TERM_ENERGY;
        event.found = 1230000;
        event.limit = 1000000;
        event.device = AI_DEVICE(AI_CLASS_NPU, 0);
        event.time_ns = static_cast<std::int64_t>(i) * 1000;
        kernel->events.push_back(event);
    }
    std::istringstream lines(run({"events", "--json"}));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(Json::parse(line)["missed"], 4);
    std::getline(lines, line);
    Json json = Json::parse(line);
    EXPECT_EQ(json["sequence"], 5);
    EXPECT_EQ(json["event"], "energy");
    EXPECT_EQ(json["other"], Json());
    EXPECT_THAT(json["text"], HasSubstr("exceeded by 23 %"));
    EXPECT_THAT(run({"events", "camera"}), HasSubstr("1 camera #7  energy exceeded by 23 %"));
    EXPECT_EQ(std::ranges::count(run({"events", "--since", "6"}), '\n'), 1);
    EXPECT_EQ(result({"events", "gate"}).error().code, ENOENT);

    /* Those of several contracts are in order of time. */
    ai::Contract second = contract("name=gate device=npu0 energy<=1J");
    std::istringstream both(run({"events", "--json", "--since", "4"}));
    std::vector<std::uint64_t> numbers;
    while (std::getline(both, line))
        numbers.push_back(Json::parse(line)["sequence"]);
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{5, 5, 6, 6, 7, 7}));
}

TEST_F(AictlTest, ContractNamedTwice)
{
    ai::Contract first = contract("name=camera device=npu0 energy<=1J");
    EXPECT_EQ(Json::parse(run({"contracts", "--json", "camera", "1"})).size(), 1U);
    EXPECT_EQ(result({"contracts", "camera", "2"}).error().code, ENOENT);
}

TEST_F(AictlTest, Fuse)
{
    ai::Contract first = contract("name=camera device=npu0 energy<=1J");
    kernel->figures.fuse = AI_FUSE_OPEN;
    kernel->figures.fuse_left_ns = 2000000000;
    EXPECT_THAT(run({"fuse"}), HasSubstr("1   open  2s    0        camera"));
    EXPECT_EQ(Json::parse(run({"fuse", "--json"}))[0]["fuse_left_ns"], 2000000000);
    EXPECT_EQ(run({"fuse", "reset", "camera"}), "2 fuses of camera closed\n");
    EXPECT_EQ(result({"fuse", "reset"}).error().code, EINVAL);
    EXPECT_EQ(result({"fuse", "open", "camera"}).error().code, EINVAL);
}

TEST(AictlTables, OfTheKernel)
{
    std::istringstream in("la                 pages name\n"
                          "0x8000000000000001 12    a model\n"
                          "0x8000000000000002 13\n");
    Json json = aictl::table_json(in);

    ASSERT_EQ(json.size(), 2U);
    EXPECT_EQ(json[0]["la"], "0x8000000000000001");
    EXPECT_EQ(json[0]["pages"], 12);
    EXPECT_EQ(json[0]["name"], "a model");
    std::istringstream nothing("");
    EXPECT_EQ(aictl::table_json(nothing), Json::array());
}

} // namespace
