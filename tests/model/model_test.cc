// SPDX-License-Identifier: GPL-2.0-only
/*
 * Models: loading, refusing, the compile cache, unloading.
 */
#include <gtest/gtest.h>

#include <fstream>

#include "runner.h"

namespace ai0::test {
namespace {

namespace fs = std::filesystem;

void expect_refused(Host& host, const Bytes& model, npu_status status, const std::string& part)
{
    Host::Loaded loaded = host.load(model);

    EXPECT_EQ(loaded.cpl.status, static_cast<std::uint32_t>(status)) << loaded.info->message;
    EXPECT_NE(std::string(loaded.info->message).find(part), std::string::npos)
        << loaded.info->message;
    EXPECT_EQ(std::string(loaded.info->message).find(".cc:"), std::string::npos)
        << loaded.info->message;
}

TEST(Model, Description)
{
    Host host;
    Host::Loaded loaded = host.load(deep_model(2, 16));

    ASSERT_EQ(loaded.cpl.status, NPU_ST_OK) << loaded.info->message;
    EXPECT_EQ(loaded.info->message[0], '\0');
    EXPECT_GT(loaded.info->compile_ns, 0u);
    ASSERT_EQ(loaded.info->nr_inputs, 1u);
    ASSERT_EQ(loaded.info->nr_outputs, 1u);
    EXPECT_STREQ(loaded.info->tensor[0].name, "x");
    EXPECT_STREQ(loaded.info->tensor[1].name, "y");
    EXPECT_EQ(loaded.info->tensor[0].dtype, 1u);
    EXPECT_EQ(loaded.info->tensor[0].rank, 2u);
    EXPECT_EQ(loaded.info->tensor[0].dims[0], -1);
    EXPECT_EQ(loaded.info->tensor[0].dims[1], 16);
    EXPECT_EQ(host.state_number("models"), 1);
    EXPECT_EQ(host.unload(loaded.id).status, NPU_ST_OK);
    EXPECT_EQ(host.unload(loaded.id).status, NPU_ST_NOT_FOUND);
    EXPECT_EQ(host.state_number("models"), 0);
}

TEST(Model, AnyShape)
{
    Host host;
    Host::Loaded loaded = host.load(any_shape_model());

    ASSERT_EQ(loaded.cpl.status, NPU_ST_OK) << loaded.info->message;
    EXPECT_EQ(loaded.info->tensor[0].rank, NPU_RANK_ANY);
    EXPECT_EQ(loaded.info->tensor[1].rank, NPU_RANK_ANY);
}

TEST(Model, Refusals)
{
    Host host;
    Bytes good = deep_model(20, 16);
    Bytes text(100);
    std::memcpy(text.data(), "This is no model, it is a sentence about one.", 45);

    expect_refused(host, text, NPU_ST_BAD_MODEL, "not an ONNX model");
    expect_refused(host, Bytes(1), NPU_ST_BAD_MODEL, "not an ONNX model");
    expect_refused(host, Bytes(5000), NPU_ST_BAD_MODEL, "not an ONNX model");
    expect_refused(host, Bytes(good.begin(), good.begin() + static_cast<long>(good.size() / 2)),
                   NPU_ST_BAD_MODEL, "truncated");
    expect_refused(host, Bytes(good.begin(), good.begin() + 2), NPU_ST_BAD_MODEL, "no graph");
    expect_refused(host, unknown_op_model(), NPU_ST_UNSUPPORTED, "Frobnicate");
    expect_refused(host, sequence_model(), NPU_ST_UNSUPPORTED, "no tensor");
    /* However its file is named, a model reads none. */
    std::ofstream(host.folder() / "weights") << "sixteen bytes of";
    for (const std::string& file : {std::string("weights"), (host.folder() / "weights").string(),
                                    std::string("../../etc/passwd")})
        expect_refused(host, external_data_model(file), NPU_ST_UNSUPPORTED, "files beside it");

    Host::Loaded loaded = host.load(good);
    EXPECT_EQ(loaded.cpl.status, NPU_ST_OK) << loaded.info->message;
}

TEST(Model, BadCommands)
{
    Host host;
    std::uint64_t info = host.alloc(sizeof(npu_model_info));
    npu_cmd cmd{};

    cmd.op = NPU_OP_MODEL_LOAD;
    cmd.object = 5;
    cmd.arg[0] = 0x700000000000;
    cmd.arg[1] = 100;
    cmd.desc_addr = info;
    cmd.desc_bytes = sizeof(npu_model_info);
    npu_cpl cpl = host.call(NPU_QUEUE_CTRL, cmd);
    EXPECT_EQ(cpl.status, NPU_ST_FAULT);
    EXPECT_EQ(cpl.value, 0x700000000000u);
    cmd.arg[1] = 0;
    EXPECT_EQ(host.call(NPU_QUEUE_CTRL, cmd).status, NPU_ST_BAD_COMMAND);
    cmd.arg[1] = 0x80000000;
    EXPECT_EQ(host.call(NPU_QUEUE_CTRL, cmd).status, NPU_ST_BAD_COMMAND);
    cmd.arg[1] = 100;
    cmd.desc_bytes = 16;
    EXPECT_EQ(host.call(NPU_QUEUE_CTRL, cmd).status, NPU_ST_BAD_COMMAND);
    cmd.desc_bytes = sizeof(npu_model_info);
    cmd.desc_addr = ~0ULL - 4096;
    EXPECT_EQ(host.call(NPU_QUEUE_CTRL, cmd).status, NPU_ST_BAD_COMMAND);
}

TEST(Model, SameNumberTwice)
{
    Host host;
    Host::Loaded first = host.load(deep_model(2, 16));
    ASSERT_EQ(first.cpl.status, NPU_ST_OK);

    std::uint64_t info = host.alloc(sizeof(npu_model_info));
    npu_cmd cmd{};
    cmd.op = NPU_OP_MODEL_LOAD;
    cmd.object = first.id;
    cmd.arg[0] = 1ULL << 32;
    cmd.arg[1] = 10;
    cmd.desc_addr = info;
    cmd.desc_bytes = sizeof(npu_model_info);
    EXPECT_EQ(host.call(NPU_QUEUE_CTRL, cmd).status, NPU_ST_BAD_COMMAND);
}

TEST(Model, UnloadWaitsForItsJobs)
{
    Host host;
    Host::Space space = host.create_space(1);
    Host::Loaded loaded = host.load(one_op_model("Neg", {{4}}, {4}));
    JobBuffers buffers(host, space, {floats({4}, {1, 2, 3, 4})}, 1);
    npu_cmd unload{};

    ASSERT_EQ(host.say("hang-next").substr(0, 2), "ok");
    std::uint64_t job = host.send(NPU_QUEUE_JOB, buffers.command(loaded.id));
    ASSERT_TRUE(host.eventually([&] { return host.state_number("running") == 1; }));
    unload.op = NPU_OP_MODEL_UNLOAD;
    unload.object = loaded.id;
    std::uint64_t tag = host.send(NPU_QUEUE_CTRL, unload);
    EXPECT_FALSE(host.wait(tag, milliseconds(200)));
    EXPECT_EQ(host.control(NPU_OP_ABORT, 0, job).status, NPU_ST_OK);
    EXPECT_EQ(host.wait(job)->status, NPU_ST_ABORTED);
    EXPECT_EQ(host.wait(tag)->status, NPU_ST_OK);
}

TEST(Model, QueueServesWhileCompiling)
{
    Host host;
    Bytes large = deep_model(3000, 16);
    Host::Loaded loaded{};
    std::uint64_t tag = host.load_begin(large, loaded);

    EXPECT_EQ(host.control(NPU_OP_PING).status, NPU_ST_OK);
    host.take_completions();
    EXPECT_EQ(host.state_number("compiling"), 1);
    EXPECT_EQ(host.wait(tag, milliseconds(60000))->status, NPU_ST_OK) << loaded.info->message;
}

TEST(Model, UnloadWhileCompiling)
{
    Host host;
    Host::Loaded loaded{};
    std::uint64_t tag = host.load_begin(deep_model(3000, 16), loaded);
    npu_cmd unload{};

    unload.op = NPU_OP_MODEL_UNLOAD;
    unload.object = loaded.id;
    std::uint64_t unload_tag = host.send(NPU_QUEUE_CTRL, unload);
    EXPECT_EQ(host.wait(tag, milliseconds(60000))->status, NPU_ST_ABORTED);
    EXPECT_EQ(host.wait(unload_tag)->status, NPU_ST_OK);
    EXPECT_EQ(host.state_number("models"), 0);
}

TEST(Model, CompilationHangsUntilUnload)
{
    Host host;
    Host::Loaded loaded{};
    npu_cmd unload{};

    ASSERT_EQ(host.say("hang-compile").substr(0, 2), "ok");
    std::uint64_t tag = host.load_begin(one_op_model("Neg", {{4}}, {4}), loaded);
    EXPECT_FALSE(host.wait(tag, milliseconds(300)));
    unload.op = NPU_OP_MODEL_UNLOAD;
    unload.object = loaded.id;
    std::uint64_t unload_tag = host.send(NPU_QUEUE_CTRL, unload);
    EXPECT_EQ(host.wait(tag)->status, NPU_ST_ABORTED);
    EXPECT_EQ(host.wait(unload_tag)->status, NPU_ST_OK);
}

/* One that waits has nothing to wait for when it is not wanted any more. */
TEST(Model, UnloadBeforeCompiling)
{
    Host host;
    Host::Loaded first{}, second{};
    npu_cmd unload{};

    ASSERT_EQ(host.say("hang-compile").substr(0, 2), "ok");
    host.load_begin(one_op_model("Neg", {{4}}, {4}), first);
    ASSERT_TRUE(host.eventually([&] { return host.state_number("compiling") == 1; }));
    std::uint64_t tag = host.load_begin(one_op_model("Abs", {{4}}, {4}), second);
    unload.op = NPU_OP_MODEL_UNLOAD;
    unload.object = second.id;
    std::uint64_t unload_tag = host.send(NPU_QUEUE_CTRL, unload);
    EXPECT_EQ(host.wait(tag)->status, NPU_ST_ABORTED);
    EXPECT_EQ(host.wait(unload_tag)->status, NPU_ST_OK);
    EXPECT_EQ(host.unload(second.id).status, NPU_ST_NOT_FOUND);
    EXPECT_EQ(host.unload(first.id).status, NPU_ST_OK);
}

class Cache : public ::testing::Test {
protected:
    void SetUp() override
    {
        char pattern[] = "/tmp/ai0-npu-cache-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { fs::remove_all(folder_); }

    HostOptions options() const
    {
        HostOptions options;
        options.cache = folder_;
        return options;
    }

    std::vector<fs::path> entries() const
    {
        std::vector<fs::path> found;
        for (const auto& file : fs::directory_iterator(folder_))
            found.push_back(file.path());
        return found;
    }

    void works(Host& host, std::uint64_t model)
    {
        Host::Space space = host.create_space(1);
        Ran ran = run(host, space, model, {floats({1, 16}, std::vector<float>(16, 2))}, 1);
        ASSERT_EQ(ran.cpl.status, NPU_ST_OK) << ran.message;
        EXPECT_EQ(compare(ran.outputs[0], floats({1, 16}, std::vector<float>(16, -0.f))), "");
    }

    fs::path folder_;
};

TEST_F(Cache, HitInAnotherDevice)
{
    Bytes model = deep_model(3, 16);
    {
        Host host(options());
        Host::Loaded loaded = host.load(model);
        ASSERT_EQ(loaded.cpl.status, NPU_ST_OK);
        EXPECT_EQ(loaded.cpl.flags & NPU_CPL_CACHED, 0u);
        works(host, loaded.id);
        EXPECT_EQ(host.state_number("cached_models"), 1);
    }
    ASSERT_EQ(entries().size(), 1u);
    HostOptions gpu = options();
    gpu.profile = "gpu";
    Host host(gpu);
    Host::Loaded loaded = host.load(model);
    ASSERT_EQ(loaded.cpl.status, NPU_ST_OK);
    EXPECT_EQ(loaded.cpl.flags & NPU_CPL_CACHED, NPU_CPL_CACHED);
    works(host, loaded.id);
    EXPECT_EQ(host.load(deep_model(4, 16)).cpl.flags & NPU_CPL_CACHED, 0u);
}

TEST_F(Cache, DamagedEntryIsMadeAnew)
{
    Bytes model = deep_model(3, 16);
    Host host(options());
    ASSERT_EQ(host.load(model).cpl.status, NPU_ST_OK);
    ASSERT_EQ(entries().size(), 1u);
    fs::path entry = entries()[0];
    std::uintmax_t size = fs::file_size(entry);

    auto damage = [&](std::uintmax_t at) {
        std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(at));
        file.put('\xa5');
    };
    for (int kind = 0; kind < 5; kind++) {
        if (kind == 0)
            damage(size - 5);
        else if (kind == 1)
            damage(0);
        else if (kind == 2)
            fs::resize_file(entry, size / 2);
        else if (kind == 3)
            fs::resize_file(entry, 3);
        else
            std::ofstream(entry, std::ios::trunc) << "not a model";
        Host::Loaded loaded = host.load(model);
        EXPECT_EQ(loaded.cpl.status, NPU_ST_OK) << kind << loaded.info->message;
        EXPECT_EQ(loaded.cpl.flags & NPU_CPL_CACHED, 0u) << kind;
        EXPECT_EQ(fs::file_size(entry), size);
        EXPECT_EQ(host.load(model).cpl.flags & NPU_CPL_CACHED, NPU_CPL_CACHED) << kind;
    }
}

TEST_F(Cache, ForeignEntryIsNotTaken)
{
    Bytes model = deep_model(3, 16);
    Host host(options());
    ASSERT_EQ(host.load(model).cpl.status, NPU_ST_OK);
    fs::path entry = entries()[0];
    ASSERT_EQ(host.load(deep_model(4, 16)).cpl.status, NPU_ST_OK);
    for (const fs::path& other : entries())
        if (other != entry)
            fs::copy_file(other, entry, fs::copy_options::overwrite_existing);

    Host::Loaded loaded = host.load(model);
    ASSERT_EQ(loaded.cpl.status, NPU_ST_OK);
    EXPECT_EQ(loaded.cpl.flags & NPU_CPL_CACHED, 0u);
    works(host, loaded.id);
}

TEST_F(Cache, FolderThatCannotBeMadeIsNoHindrance)
{
    HostOptions where = options();
    where.cache = "/proc/no/such/folder";
    Host host(where);
    Host::Loaded loaded = host.load(deep_model(3, 16));

    ASSERT_EQ(loaded.cpl.status, NPU_ST_OK) << loaded.info->message;
    works(host, loaded.id);
}

} // namespace
} // namespace ai0::test
