/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>
#include <cstring>
#include <fstream>

#include "fixture.h"

namespace {

using testing::HasSubstr;

class ModelTest : public WithKernel {
protected:
    ai::Session session = open();

    std::string file_with(const std::string& content, const std::string& name = "net.onnx")
    {
        std::string path = testing::TempDir() + name;
        std::ofstream(path, std::ios::binary) << content;
        return path;
    }
};

TEST_F(ModelTest, DescribesTensorsOfAnyRank)
{
    kernel->model = {{tensor_info("x", AI_DTYPE_FLOAT, {})},
                     {tensor_info("y", AI_DTYPE_FLOAT, {})}};
    kernel->model.inputs[0].rank = AI_RANK_ANY;
    ai::Model model = ai::Model::load(session, artefact).or_throw();

    EXPECT_TRUE(model.inputs()[0].any_rank);
    EXPECT_EQ(model.inputs()[0].shape(), std::nullopt);
    EXPECT_EQ(ai::to_string(model.inputs()[0]), "x: float32 [...]");
    EXPECT_FALSE(model.outputs()[0].any_rank);
    EXPECT_EQ(model.outputs()[0].shape(), ai::Shape());
}

TEST_F(ModelTest, DescribesInputsAndOutputs)
{
    ai::Model model = load(session, {1, 3, -1, -1}, {1, 10});

    ASSERT_EQ(model.inputs().size(), 1U);
    EXPECT_EQ(ai::to_string(model.inputs()[0]), "x: float32 [1,3,?,?]");
    EXPECT_EQ(model.inputs()[0].shape(), std::nullopt);
    EXPECT_EQ(model.outputs()[0].shape(), ai::Shape(1, 10));
    EXPECT_EQ(model.input_index("x"), 0U);
    EXPECT_EQ(model.output_index("x"), std::nullopt);
    EXPECT_EQ(model.compile_time(), std::chrono::milliseconds(5));
    EXPECT_EQ(model.device(), ai::DeviceId(AI_DEVICE(AI_CLASS_NPU, 0)));
}

TEST_F(ModelTest, IsUnloadedWhenItGoes)
{
    {
        ai::Model model = load(session, {1}, {1});
        ai::Model moved = std::move(model);
        EXPECT_EQ(kernel->live_models(), 1U);
        moved = load(session, {2}, {2});
    }
    EXPECT_EQ(kernel->live_models(), 0U);
}

TEST_F(ModelTest, TakesAFileAsItIs)
{
    kernel->model = {{}, {tensor_info("y", AI_DTYPE_FLOAT, {1})}};
    std::string path = file_with("onnx bytes");
    ai::Model model = ai::Model::load_file(session, path).or_throw();

    EXPECT_EQ(model.name(), "net");
    EXPECT_STREQ(kernel->last_load.name, "net");
    EXPECT_EQ(std::memcmp(kernel->last_artefact.data(), "onnx bytes", 10), 0);
    EXPECT_EQ(kernel->last_load.device, AI_DEVICE_ANY);
    EXPECT_EQ(kernel->last_load.timeout_ns, 0);
}

TEST_F(ModelTest, MakesAFitNameOfAFile)
{
    kernel->model = {{}, {tensor_info("y", AI_DTYPE_FLOAT, {1})}};
    std::string path = file_with("onnx bytes", "ma\xc3\xaf" + std::string(100, 's') + ".onnx");
    ai::Model model = ai::Model::load_file(session, path).or_throw();

    EXPECT_EQ(model.name(), "ma__" + std::string(59, 's'));
}

TEST_F(ModelTest, NamesTheFileThatIsWrong)
{
    std::string path = file_with("abc");

    EXPECT_EQ(ai::Model::load_file(session, path).error().message,
              path + ": npu0: the model is truncated");
    EXPECT_EQ(ai::Model::load_file(session, "/nowhere.onnx").error().code, ENOENT);
    EXPECT_THAT(ai::Model::load_file(session, file_with("")).error().message,
                HasSubstr("is empty"));
    EXPECT_THAT(ai::Model::load_file(session, "/dev").error().message,
                HasSubstr("not a regular file"));
}

TEST_F(ModelTest, RefusesALongName)
{
    ai::LoadOptions options;
    options.name = std::string(64, 'n');

    EXPECT_EQ(ai::Model::load(session, artefact, options).error().message,
              "the name of the model has 64 characters, at most 63 are possible");
}

TEST_F(ModelTest, PassesOptionsOn)
{
    ai::LoadOptions options;
    options.version = 7;
    options.device = ai::DeviceId(AI_DEVICE(AI_CLASS_GPU, 1));
    options.timeout = std::chrono::seconds(2);
    kernel->model = {{}, {tensor_info("y", AI_DTYPE_FLOAT, {1})}};
    ai::Model model = ai::Model::load(session, artefact, options).or_throw();

    EXPECT_EQ(model.version(), 7U);
    EXPECT_EQ(model.device(), options.device);
    EXPECT_GT(kernel->last_load.timeout_ns, 0);
    EXPECT_EQ(kernel->last_load.hdr.flags, 0U);
}

TEST_F(ModelTest, CompilesMeanwhile)
{
    ai::LoadOptions options;
    options.no_wait = true;
    kernel->model = {{tensor_info("x", AI_DTYPE_FLOAT, {1})},
                     {tensor_info("y", AI_DTYPE_FLOAT, {1})}};
    kernel->compiling = 3;
    ai::Model model = ai::Model::load(session, artefact, options).or_throw();

    EXPECT_EQ(kernel->last_load.hdr.flags, AI_MODEL_NOWAIT);
    EXPECT_TRUE(model.inputs().empty());
    EXPECT_EQ(model.poll().value(), ai::ModelState::kCompiling);
    EXPECT_TRUE(model.wait(std::chrono::seconds(10)));
    EXPECT_EQ(model.inputs().size(), 1U);
    EXPECT_EQ(model.poll().value(), ai::ModelState::kReady);
}

TEST_F(ModelTest, WaitsNoLongerThanTold)
{
    ai::LoadOptions options;
    options.no_wait = true;
    kernel->compiling = 1000000;
    ai::Model model = ai::Model::load(session, artefact, options).or_throw();

    EXPECT_EQ(model.wait(std::chrono::milliseconds(5)).error().code, ETIME);
}

TEST_F(ModelTest, SaysWhyItFailed)
{
    ai::LoadOptions options;
    options.no_wait = true;
    kernel->model_failure = "no operator of that name";
    ai::Model model = ai::Model::load(session, artefact, options).or_throw();

    EXPECT_EQ(model.wait().error().message, "no operator of that name");
}

} // namespace
