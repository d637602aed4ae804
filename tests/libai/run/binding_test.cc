/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ai-run, and what it makes of a model's inputs. */
#include <cerrno>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binding.h"
#include "npy_file.h"
#include "options.h"

namespace {

using testing::HasSubstr;

ai::Result<ai_run::Options> parse(std::vector<std::string> words)
{
    std::vector<char*> argv;

    words.insert(words.begin(), "ai-run");
    argv.reserve(words.size() + 1);
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    return ai_run::parse_options(std::span(argv).first(words.size()));
}

TEST(Options, AreRead)
{
    auto options = parse({"-d", "npu0", "--repeat=3", "--timeout", "250ms", "m.onnx", "--json",
                          "--random=7", "-i", "x=a.pb", "-o", "y.npy"})
                       .or_throw();

    EXPECT_EQ(options.device, "npu0");
    EXPECT_EQ(options.repeat, 3U);
    EXPECT_EQ(options.timeout, std::chrono::milliseconds(250));
    EXPECT_EQ(options.seed, 7U);
    EXPECT_TRUE(options.json);
    EXPECT_THAT(options.arguments, testing::ElementsAre("m.onnx"));
    EXPECT_EQ(options.inputs[0].text, "x=a.pb");
}

TEST(Options, WrongOnesGetASentence)
{
    EXPECT_THAT(parse({}).error().message, HasSubstr("0 models are given, one is needed: see"));
    EXPECT_THAT(parse({"--list", "x"}).error().message, HasSubstr("--list is given 'x'"));
    EXPECT_THAT(parse({"a", "b"}).error().message, HasSubstr("2 models are given"));
    EXPECT_EQ(parse({"--nonsense", "m"}).error().message,
              "--nonsense is no option of ai-run: see --help");
    EXPECT_EQ(parse({"m", "--nonsense=5"}).error().message,
              "--nonsense is no option of ai-run: see --help");
    EXPECT_EQ(parse({"m", "-jxl"}).error().message, "-x is no option of ai-run: see --help");
    EXPECT_EQ(parse({"m", "--zeros=5"}).error().message,
              "--zeros takes no value, it is given '5': see --help");
    EXPECT_EQ(parse({"m", "--js="}).error().message,
              "--json takes no value, it is given '': see --help");
    EXPECT_EQ(parse({"m", "--r"}).error().message,
              "--r is short for more than one option of ai-run: see --help");
    EXPECT_THAT(parse({"m", "--device"}).error().message, HasSubstr("is given no value"));
    EXPECT_THAT(parse({"--repeat", "0", "m"}).error().message, HasSubstr("at least 1"));
    EXPECT_THAT(parse({"--repeat", "3x", "m"}).error().message, HasSubstr("at least 1"));
    EXPECT_THAT(parse({"--case"}).error().message, HasSubstr("no folder"));
    EXPECT_THAT(parse({"--case", "d", "--zeros"}).error().message, HasSubstr("leave out"));
    EXPECT_TRUE(parse({"--list"}));
    EXPECT_TRUE(parse({"--help"}));
}

TEST(Duration, HasUnits)
{
    EXPECT_EQ(ai_run::parse_duration("2"), std::chrono::seconds(2));
    EXPECT_EQ(ai_run::parse_duration("1.5s"), std::chrono::milliseconds(1500));
    EXPECT_EQ(ai_run::parse_duration("100us"), std::chrono::microseconds(100));
    for (const char* wrong : {"", "s", "-1s", "0", "1h", "nan", "1e300s"})
        EXPECT_FALSE(ai_run::parse_duration(wrong)) << wrong;
}

TEST(ShapeText, IsRead)
{
    EXPECT_EQ(ai_run::parse_shape("1,3,224,224").value(), ai::Shape(1, 3, 224, 224));
    EXPECT_EQ(ai_run::parse_shape("").value(), ai::Shape());
    for (const char* wrong : {",", "1,", "1,,2", "1,-2", "a", "1,2,3,4,5,6,7,8,9"})
        EXPECT_FALSE(ai_run::parse_shape(wrong)) << wrong;
}

class Binding : public testing::Test {
protected:
    std::vector<ai::TensorInfo> infos{{"left", ai::DType::kFloat32, {1, -1}},
                                      {"right", ai::DType::kInt64, {2}}};
    ai_run::Options options;

    std::string file(const std::string& name, std::size_t bytes)
    {
        std::string path = testing::TempDir() + name;
        std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
        return path;
    }

    std::string message()
    {
        auto inputs = ai_run::bind_inputs(infos, options);
        EXPECT_FALSE(inputs);
        return inputs ? "" : inputs.error().message;
    }
};

TEST_F(Binding, FillsWhatIsNotGiven)
{
    options.fill = ai_run::Fill::kRandom;
    options.shapes = {{"left=1,5"}};
    auto inputs = ai_run::bind_inputs(infos, options).or_throw();
    auto again = ai_run::bind_inputs(infos, options).or_throw();

    EXPECT_EQ(inputs.tensors[0].shape, ai::Shape(1, 5));
    EXPECT_EQ(inputs.tensors[1].shape, ai::Shape(2));
    EXPECT_EQ(inputs.tensors[0].data, again.tensors[0].data);
    options.seed = 1;
    EXPECT_NE(inputs.tensors[0].data, ai_run::bind_inputs(infos, options)->tensors[0].data);
}

TEST_F(Binding, FreeSizesAreOne)
{
    options.fill = ai_run::Fill::kZeros;

    EXPECT_EQ(ai_run::bind_inputs(infos, options)->tensors[0].shape, ai::Shape(1, 1));
}

TEST_F(Binding, RefusesWhatTakesMoreThanThereIs)
{
    options.fill = ai_run::Fill::kZeros;
    options.shapes = {{"left=1,281474976710656"}};
    EXPECT_THAT(message(), AllOf(HasSubstr("input 0 (left: float32 [1,?])"),
                                 HasSubstr("[1,281474976710656] takes 1125899906842624 bytes"),
                                 HasSubstr("--shape")));
    options.shapes = {{"left=4294967296,4294967296"}};
    EXPECT_THAT(message(), HasSubstr("takes more than 2^64 bytes"));
    infos[0].dtype = ai::DType::kString;
    EXPECT_THAT(message(), HasSubstr("takes more than 2^64 bytes"));
}

TEST_F(Binding, TakesNamesNumbersAndOrder)
{
    options.raws = {{"right=" + file("r.bin", 16) + ":int64:2"}, {file("l.bin", 8) + ":float:1,2"}};
    auto inputs = ai_run::bind_inputs(infos, options).or_throw();
    EXPECT_EQ(inputs.tensors[0].shape, ai::Shape(1, 2));
    EXPECT_EQ(inputs.tensors[1].data.size(), 16U);

    options.raws[0].text = "1=" + file("r.bin", 16) + ":int64:2";
    EXPECT_TRUE(ai_run::bind_inputs(infos, options));
}

TEST_F(Binding, TakesTheNameInsideAFile)
{
    ai_run::HostTensor right{"right", ai::DType::kInt64, ai::Shape(2), std::vector<std::byte>(16)};
    std::string path = testing::TempDir() + "right.pb";
    ASSERT_TRUE(ai_run::write_tensor(path, right));
    options.inputs = {{path}};
    options.fill = ai_run::Fill::kZeros;

    EXPECT_EQ(ai_run::bind_inputs(infos, options)->sources[1], path);
}

TEST_F(Binding, SaysWhatIsWrong)
{
    EXPECT_THAT(message(), HasSubstr("input 0 (left: float32 [1,?]) is not given"));
    options.raws = {{"nocolon"}};
    EXPECT_THAT(message(), HasSubstr("FILE:DTYPE:SHAPE"));
    options.raws = {{"f:float8:1"}};
    EXPECT_THAT(message(), HasSubstr("element type 'float8'"));
    options.raws = {{file("s.bin", 3) + ":float32:1"}};
    EXPECT_THAT(message(), HasSubstr("has 3 bytes of elements"));
    options.raws = {{"2=" + file("s.bin", 4) + ":float32:1"}};
    EXPECT_THAT(message(), HasSubstr("is for no input, the model has 2: left, right"));
    options.raws = {{"left=" + file("s.bin", 4) + ":float32:1"},
                    {"0=" + file("s.bin", 4) + ":float32:1"}};
    EXPECT_THAT(message(), HasSubstr("has a file already"));
    options.raws.clear();
    options.inputs = {{file("s.txt", 3)}};
    EXPECT_THAT(message(), HasSubstr("neither in .pb nor in .npy"));
}

TEST_F(Binding, FindsOutputs)
{
    options.outputs = {{"right=r.npy"}};
    auto files = ai_run::bind_outputs(infos, options).or_throw();

    EXPECT_EQ(files[0], std::nullopt);
    EXPECT_EQ(files[1], "r.npy");
    options.outputs = {{"r.txt"}};
    EXPECT_THAT(ai_run::bind_outputs(infos, options).error().message, HasSubstr("neither in .pb"));
}

} // namespace
