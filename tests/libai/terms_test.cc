/* SPDX-License-Identifier: Apache-2.0 */
/* Terms of contracts: literals, text, and where a mistake in a text is. */
#include <random>

#include "fixture.h"

namespace {

using namespace std::chrono_literals;
using namespace ai::literals;
using testing::HasSubstr;

TEST(Units, LiteralsAreInTheBaseUnit)
{
    EXPECT_EQ(15_J, ai::Energy(15000000));
    EXPECT_EQ(500_mJ, ai::Energy(500000));
    EXPECT_EQ(7_uJ, ai::Energy(7));
    EXPECT_EQ(25_W, ai::Power(25000));
    EXPECT_EQ(10_mW, ai::Power(10));
    EXPECT_EQ(2_GBps, ai::Bandwidth(2000000000));
    EXPECT_EQ(20_percent, ai::Share(200000));
    EXPECT_EQ(100_percent, ai::Share(1000000));
    EXPECT_EQ(3_GiB, ai::Bytes(3ULL << 30));
    EXPECT_EQ(1_kHz, ai::Rate(1000000));
    EXPECT_LT(1_mJ, 1_J);
}

TEST(Units, APeriodIsNotLongerThanItsRateAsks)
{
    static_assert(ai::period_of(30_Hz) == 33333333ns);
    EXPECT_EQ(ai::period_of(500_mHz), 2s);
    EXPECT_EQ(ai::period_of(ai::Rate(0)), 0ns);
    EXPECT_EQ(ai::period_of(ai::Rate(UINT64_MAX)), 1ns);
    EXPECT_EQ(ai::period_of(30_Hz), ai::parse_terms("rate>=30Hz").or_throw().period);
}

/* In words of a template, so that it is a question and not an error. */
template <unsigned long long N>
concept IsSomeGiB = requires
{
    typename std::bool_constant<(operator""_GiB(N), true)>;
};
template <unsigned long long N>
concept IsSomePercent = requires
{
    typename std::bool_constant<(operator""_percent(N), true)>;
};

TEST(Units, LiteralsThatDoNotFitDoNotCompile)
{
    static_assert(IsSomeGiB<(1ULL << 34) - 1> && !IsSomeGiB<1ULL << 34>);
    static_assert(IsSomePercent<100> && !IsSomePercent<101>);
}

TEST(Units, ForPeople)
{
    EXPECT_EQ(ai::to_string(ai::Nanoseconds(1500000)), "1.50 ms");
    EXPECT_EQ(ai::to_string(ai::Nanoseconds(300s)), "5 min");
    EXPECT_EQ(ai::to_string(1234_mJ), "1.23 J");
    EXPECT_EQ(ai::to_string(25_W), "25 W");
    EXPECT_EQ(ai::to_string(ai::Share(123456)), "12.3 %");
    EXPECT_EQ(ai::to_string(64_MiB), "64 MiB");
    EXPECT_EQ(ai::to_string(ai::Bandwidth(0)), "0 B/s");
}

ai::Terms parsed(std::string_view text)
{
    return ai::parse_terms(text).or_throw();
}

TEST(Terms, ReadsEachTerm)
{
    ai::Terms terms = parsed("name=camera device=npu0 latency_p99<=50ms rate>=30Hz burst=2 "
                             "service<=8.5ms energy<=15J power<=25W bandwidth>=1GB/s "
                             "precision>=fp16 fault=critical degrade=yes fallback=warn lapse=10s "
                             "fuse=5min, memory(npu0)>=64MiB\tmemory(system)>=1KiB");

    EXPECT_EQ(terms.name, "camera");
    EXPECT_EQ(terms.device, ai::DeviceId(128));
    EXPECT_EQ(terms.latency, 50ms);
    EXPECT_EQ(terms.period, 33333333ns);
    EXPECT_EQ(terms.burst, 2U);
    EXPECT_EQ(terms.service, 8500us);
    EXPECT_EQ(terms.energy, 15_J);
    EXPECT_EQ(terms.power, 25_W);
    EXPECT_EQ(terms.bandwidth, 1_GBps);
    EXPECT_EQ(terms.precision, ai::Precision::kFp16);
    EXPECT_TRUE(terms.critical);
    EXPECT_TRUE(terms.may_degrade);
    EXPECT_EQ(terms.fallback, ai::Fallback::kWarn);
    EXPECT_EQ(terms.lapse, 10s);
    EXPECT_EQ(terms.fuse, 5min);
    ASSERT_EQ(terms.memory.size(), 2U);
    EXPECT_EQ(terms.memory[0].home, ai::DeviceId(128));
    EXPECT_EQ(terms.memory[0].size, 64_MiB);
    EXPECT_EQ(terms.memory[1].home, ai::kSystem);
    EXPECT_EQ(parsed("share>=20%").share, 20_percent);
    EXPECT_EQ(parsed("share>=0.5%").share, ai::Share(5000));
    EXPECT_EQ(parsed("rate>=0.5Hz").period, 2s);
    EXPECT_EQ(parsed("fault=non-critical").critical, false);
    EXPECT_EQ(parsed("  "), ai::Terms());
}

TEST(Terms, GoesToTextAndBack)
{
    for (const char* text :
         {"name=x device=gpu63 latency_p99<=1234567ns period=1h burst=65536 service<=1us",
          "device=fpga1 share>=1ppm precision>=int4 energy<=1kJ power<=1mW lapse=10ms",
          "memory(npu3)>=4GiB memory(system)>=4097B bandwidth>=7MB/s fuse=1500ms",
          "device=npu0 fault=critical degrade=yes fallback=allow", ""}) {
        ai::Terms terms = parsed(text);
        EXPECT_EQ(parsed(ai::to_string(terms)), terms) << ai::to_string(terms);
    }
}

TEST(Terms, AnyNameGoesToTextAndBack)
{
    EXPECT_EQ(parsed("name=\"front door, left\" power<=1W").name, "front door, left");
    EXPECT_EQ(ai::to_string(ai::Terms{.name = "camera-1"}), "name=camera-1");
    EXPECT_EQ(ai::to_string(ai::Terms{.name = "a \"b\" \\"}), R"(name="a \"b\" \\")");
    for (const char* name : {"front door", " ", "a,b", "\"", "\\", "a\\b", "=x", ">=", "a=\"b c\"",
                             "x\"", "power<=1W", "!~"}) {
        ai::Terms terms{.name = name, .power = 25_W};
        EXPECT_EQ(parsed(ai::to_string(terms)), terms) << ai::to_string(terms);
    }
    ai::Terms most{.name = std::string(63, 'x'),
                   .energy = ai::Energy(UINT64_MAX),
                   .bandwidth = ai::Bandwidth(UINT64_MAX),
                   .memory = {{.size = ai::Bytes(UINT64_MAX)}}};
    EXPECT_EQ(parsed(ai::to_string(most)), most) << ai::to_string(most);
    EXPECT_EQ(ai::parse_terms("energy<=18446744073709.551616J").error().code, EINVAL);
}

struct Mistake {
    const char* text;
    const char* word; /* what is pointed at */
    const char* why;
};

/* The sentence is followed by the text and by a line that points at the word. */
void expect_mistake(const Mistake& mistake)
{
    ai::Result<ai::Terms> terms = ai::parse_terms(mistake.text);
    ASSERT_FALSE(terms) << mistake.text;
    const std::string& message = terms.error().message;
    std::size_t first = message.find('\n');
    std::size_t second = message.find('\n', first + 1);
    ASSERT_NE(second, std::string::npos) << message;
    std::string line = message.substr(first + 1, second - first - 1);
    std::string pointer = message.substr(second + 1);
    std::size_t at = pointer.find('^');

    EXPECT_EQ(terms.error().code, EINVAL);
    EXPECT_THAT(message.substr(0, first), HasSubstr(mistake.why)) << mistake.text;
    EXPECT_EQ(line, mistake.text);
    EXPECT_EQ(line.substr(at, pointer.size() - at), mistake.word) << message;
}

TEST(Terms, PointsAtWhatIsWrong)
{
    for (const Mistake& mistake : {
             Mistake{"power<=25W latency<=50ms", "latency", "is latency_p99 meant"},
             Mistake{"power<=25W enrgy<=1J", "enrgy", "is energy meant"},
             Mistake{"power<=25W nonsense=1", "nonsense", "there is no term"},
             Mistake{"power<25W", "<", "power takes <=, found <"},
             Mistake{"power=25W", "=", "power takes <="},
             Mistake{"rate<=30Hz", "<=", "rate takes >="},
             Mistake{"latency_p99<=50W", "50W", "found a power"},
             Mistake{"latency_p99<=50", "50", "without a unit"},
             Mistake{"latency_p99<=50parsec", "parsec", "the unit 'parsec'"},
             Mistake{"latency_p99<=", "latency_p99<=", "no number"},
             Mistake{"latency_p99<=ms", "ms", "no number"},
             Mistake{"latency_p99<=-5ms", "-5ms", "negative"},
             Mistake{"latency_p99<=1.2.3ms", "1.2.3ms", "no number"},
             Mistake{"latency_p99<=0ms", "0ms", "leave the term out"},
             Mistake{"latency_p99<=0.5ns", "0.5ns", "whole number"},
             Mistake{"latency_p99<=99999999999h", "99999999999h", "too large"},
             Mistake{"latency_p99<=99999999999999999999999ns", "99999999999999999999999ns",
                     "too large"},
             Mistake{"power<=5000000W", "5000000W", "too large"},
             Mistake{"share>=101%", "101%", "too large"},
             Mistake{"burst=2ms", "2ms", "a number"},
             Mistake{"burst=2 burst=3", "burst=3", "given twice"},
             Mistake{"rate>=1Hz period=1s", "rate>=1Hz period=1s", "say the same"},
             Mistake{"device=npu64", "npu64", "device takes"},
             Mistake{"device=system", "system", "device takes"},
             Mistake{"memory(tpu0)>=1MiB", "tpu0", "memory takes"},
             Mistake{"memory(system)>=1MiB memory>=2MiB", "memory>=2MiB", "given twice"},
             Mistake{"power(npu0)<=1W", "npu0", "nothing in parentheses"},
             Mistake{"precision>=fp12", "fp12", "int4"},
             Mistake{"fault=maybe", "maybe", "non-critical or critical"},
             Mistake{"name=", "name=", "empty"},
             Mistake{"name=\"\" burst=2", "name=\"\"", "empty"},
             Mistake{"burst=2 name=\"a b", "\"a b", "not closed"},
             Mistake{"name=\"a\\", "\"a\\", "not closed"},
             Mistake{"name=\"a b\"c burst=2", "c", "follows the end of the quotes"},
             Mistake{"name=\"15 J\" energy<=\"15 J\"", "\"15 J\"", "no number"},
             Mistake{
                 "burst=2 name=0123456789012345678901234567890123456789012345678901234567890123",
                 "0123456789012345678901234567890123456789012345678901234567890123",
                 "64 characters, the most is 63"},
             Mistake{"camera", "camera", "has no <=, >= or ="},
             Mistake{"=5", "=5", "there is no term"},
         })
        expect_mistake(mistake);
}

TEST(Terms, PointsBehindLettersOfSeveralBytes)
{
    EXPECT_THAT(ai::parse_terms("name=T\u00fcr burst=2").error().message,
                testing::EndsWith("\nname=T\u00fcr burst=2\n     ^^^"));
}

/* Whatever comes in: terms, or a message of three lines. */
TEST(Terms, SurvivesAnyText)
{
    const std::string good = "device=npu0 latency_p99<=50.25ms rate>=30Hz "
                             "memory(npu0)>=64MiB share>=20% fault=critical name=\"a b\\\"\"";
    std::mt19937 random(1);
    std::size_t accepted = 0;

    for (int round = 0; round < 20000; round++) {
        std::string text = good;
        for (auto change = random() % 6; change > 0; change--) {
            std::size_t at = random() % text.size();
            switch (random() % 3) {
            case 0:
                text[at] = static_cast<char>(random() % 256);
                break;
            case 1:
                text.erase(at, random() % 8);
                break;
            default:
                text.insert(at, text.substr(random() % text.size(), random() % 12));
            }
            if (text.empty())
                text = "x";
        }
        ai::Result<ai::Terms> terms = ai::parse_terms(text);
        if (terms) {
            accepted++;
            EXPECT_EQ(parsed(ai::to_string(*terms)), *terms) << text;
        } else {
            EXPECT_EQ(std::ranges::count(terms.error().message, '\n'), 2) << text;
        }
    }
    EXPECT_GT(accepted, 1000U);
    EXPECT_LT(accepted, 19000U);
}

} // namespace
