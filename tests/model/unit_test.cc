// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of the device model by themselves.
 */
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "compile_cache.h"
#include "engine_error.h"
#include "onnx_case.h"
#include "onnx_scan.h"
#include "tensors.h"

namespace ai0::npu {
namespace {

namespace fs = std::filesystem;

TEST(Unit, ElementCountsDoNotOverflow)
{
    using S = Shape;
    EXPECT_EQ(element_count(S{}), 1u);
    EXPECT_EQ(element_count(S{3, 4}), 12u);
    EXPECT_EQ(element_count(S{3, 0, INT64_MAX, INT64_MAX}), std::nullopt);
    EXPECT_EQ(element_count(S{0, 5}), 0u);
    EXPECT_EQ(element_count(S{-1}), std::nullopt);
    EXPECT_EQ(element_count(S{INT64_MAX, 3}), std::nullopt);
    EXPECT_EQ(tensor_bytes(S{INT64_MAX}, 11), std::nullopt);
    EXPECT_EQ(tensor_bytes(S{5}, 11), 40u);
}

TEST(Unit, StringsBothWays)
{
    std::vector<std::string> strings = {"", "a", "", "bcd", std::string("\0x", 2)};
    std::vector<std::byte> packed = pack_strings(strings);

    EXPECT_EQ(packed.size(), 6 * 8 + 6u);
    EXPECT_EQ(unpack_strings(packed, 5), strings);
    EXPECT_EQ(unpack_strings(packed, 4), std::nullopt);
    EXPECT_EQ(unpack_strings(packed, UINT64_MAX), std::nullopt);
    EXPECT_EQ(unpack_strings({}, 0), std::nullopt);
    EXPECT_TRUE(unpack_strings(pack_strings({}), 0)->empty());
    packed[8] = std::byte{200};
    EXPECT_EQ(unpack_strings(packed, 5), std::nullopt);
}

/* A field of a protocol buffer that has a length. */
std::string field(char key, const std::string& content)
{
    std::string text(1, key);

    for (std::size_t n = content.size();; n >>= 7) {
        text += static_cast<char>((n & 127) | (n > 127 ? 128 : 0));
        if (n < 128)
            break;
    }
    text += content;
    return text;
}

TEST(Unit, ScannerSurvivesAnything)
{
    std::mt19937 random(7);
    std::vector<std::byte> model = test::deep_model(30, 8);

    EXPECT_EQ(scan_onnx(model).status, NPU_ST_OK);
    for (std::size_t n = 0; n < model.size(); n += 3)
        EXPECT_NE(scan_onnx(std::span(model).first(n)).sentence, "") << n;
    for (int i = 0; i < 20000; i++) {
        std::vector<std::byte> spoilt = model;
        for (int k = 0; k < 4; k++)
            spoilt[random() % spoilt.size()] = static_cast<std::byte>(random());
        scan_onnx(spoilt);
    }
    /* A graph in a graph in a graph. */
    std::string nested;
    for (int i = 0; i < 3000; i++)
        nested = field(i % 3 == 2 ? '\x0a' : i % 3 == 1 ? '\x2a' : '\x32', nested);
    nested = field('\x3a', nested);
    nested.insert(0, "\x08\x07");
    EXPECT_NE(scan_onnx(std::as_bytes(std::span(nested))).status, NPU_ST_OK);
}

/* A model with one tensor that consists of this. */
std::uint32_t scan_tensor(const std::string& tensor)
{
    std::string model = "\x08\x07" + field('\x3a', field('\x2a', tensor));

    return scan_onnx(std::as_bytes(std::span(model))).status;
}

/* Other readers cut a key to 32 bits and see a field that the scanner did not. */
TEST(Unit, ScannerRefusesKeysThatOthersCut)
{
    EXPECT_EQ(scan_tensor(""), NPU_ST_OK);
    EXPECT_EQ(scan_tensor(field('\x6a', "")), NPU_ST_UNSUPPORTED); /* external data */
    EXPECT_EQ(scan_tensor("\xea\x80\x80\x80\x80" + field('\x01', "")), NPU_ST_BAD_MODEL);
    /* An unknown field with a key of 29 bits. */
    EXPECT_EQ(scan_tensor("\xea\x80\x80\x80" + field('\x01', "")), NPU_ST_OK);
}

TEST(Unit, EngineSentences)
{
    EXPECT_EQ(engine_sentence("[ONNXRuntimeError] : 1 : FAIL : Load model from memory "
                              "failed:/onnxruntime_src/onnxruntime/core/graph/graph.cc:42 "
                              "onnxruntime::Graph::Graph(const std::string&) it is broken\n"),
              "it is broken");
    EXPECT_EQ(engine_sentence(""), "the engine gave no reason");
    EXPECT_LT(engine_sentence(std::string(1000, 'x')).size(), std::size_t{NPU_MESSAGE_BYTES});
}

class CacheUnit : public ::testing::Test {
protected:
    void SetUp() override
    {
        char pattern[] = "/tmp/ai0-npu-unit-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { fs::remove_all(folder_); }

    static Sha256 key(int n)
    {
        return CompileCache::key({}, static_cast<std::uint32_t>(n), "", "");
    }

    fs::path folder_;
    SharedBoard board_;
};

TEST_F(CacheUnit, OldestGoesFirst)
{
    CompileCache cache(folder_, *board_, 10000);
    std::vector<std::byte> data(3000, std::byte{1});

    for (int i = 0; i < 3; i++) {
        cache.put(key(i), data);
        usleep(20000);
    }
    EXPECT_TRUE(cache.get(key(0)));
    usleep(20000);
    cache.put(key(3), data);
    EXPECT_TRUE(cache.get(key(0)));
    EXPECT_FALSE(cache.get(key(1)));
    EXPECT_TRUE(cache.get(key(3)));
    cache.put(key(4), std::vector<std::byte>(20000));
    EXPECT_FALSE(cache.get(key(4)));
    EXPECT_LE(board_->cache_bytes, 10000u);
}

TEST_F(CacheUnit, RemainsOfTheDeadGo)
{
    std::ofstream(folder_ / "scratch-99999999-0") << "x";
    CompileCache cache(folder_, *board_);

    EXPECT_FALSE(fs::exists(folder_ / "scratch-99999999-0"));
}

TEST_F(CacheUnit, KeysDiffer)
{
    Sha256 model{};
    EXPECT_NE(CompileCache::key(model, 1, "a", "b"), CompileCache::key(model, 2, "a", "b"));
    EXPECT_NE(CompileCache::key(model, 1, "a", "b"), CompileCache::key(model, 1, "a2", "b"));
    EXPECT_NE(CompileCache::key(model, 1, "a", "b"), CompileCache::key(model, 1, "a", "b2"));
}

} // namespace
} // namespace ai0::npu
