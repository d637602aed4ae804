// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of the ONNX backend suite, through the whole device. NPU_TEST_SUITES
 * names the folders to run, separated by commas; the default leaves out node,
 * whose many cases take longer.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "runner.h"

// The test has one thread.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace ai0::test {
namespace {

namespace fs = std::filesystem;

struct Totals {
    int passed = 0, failed = 0, unsupported = 0;
};

std::vector<std::string> suites()
{
    const char* names = std::getenv("NPU_TEST_SUITES");
    std::stringstream text(names ? names : "simple,pytorch-operator,pytorch-converted");
    std::vector<std::string> list;

    for (std::string name; std::getline(text, name, ',');)
        list.push_back(name);
    return list;
}

void run_case(Host& host, const Host::Space& space, const fs::path& folder, Totals& totals)
{
    Case test = read_case(folder);
    Host::Loaded loaded = host.load(test.model);

    if (loaded.cpl.status == NPU_ST_UNSUPPORTED || !test.unusable.empty()) {
        totals.unsupported++;
        std::cout << "unsupported " << test.name << ": "
                  << (test.unusable.empty() ? loaded.info->message : test.unusable) << "\n";
        if (loaded.cpl.status == NPU_ST_OK)
            host.unload(loaded.id);
        return;
    }
    std::string wrong;
    if (loaded.cpl.status != NPU_ST_OK)
        wrong = "load status " + std::to_string(loaded.cpl.status) + ": " + loaded.info->message;
    for (const TestSet& set : test.sets) {
        if (!wrong.empty())
            break;
        JobOptions options;
        for (const Tensor& output : set.outputs)
            options.room.push_back(output.data.size());
        Ran ran = run(host, space, loaded.id, set.inputs, set.outputs.size(), options);
        if (ran.cpl.status != NPU_ST_OK)
            wrong = "status " + std::to_string(ran.cpl.status) + ": " + ran.message;
        for (std::size_t i = 0; i < ran.outputs.size() && wrong.empty(); i++)
            wrong = compare(ran.outputs[i], set.outputs[i]);
    }
    if (loaded.cpl.status == NPU_ST_OK) {
        EXPECT_EQ(host.unload(loaded.id).status, NPU_ST_OK);
    }
    (wrong.empty() ? totals.passed : totals.failed)++;
    if (!wrong.empty())
        std::cout << "failed " << test.name << ": " << wrong << "\n";
}

TEST(Suite, Cases)
{
    ASSERT_TRUE(fs::exists(suite_folder()))
        << suite_folder() << " does not exist; install libonnx-testdata";
    for (const std::string& suite : suites()) {
        std::vector<fs::path> folders;
        for (const auto& entry : fs::directory_iterator(suite_folder() / suite))
            folders.push_back(entry.path());
        std::sort(folders.begin(), folders.end());

        Totals totals;
        std::unique_ptr<Host> host;
        Host::Space space{};
        for (std::size_t i = 0; i < folders.size(); i++) {
            /* The guest memory of a test is never given back, so take a new guest now and then. */
            if (i % 20 == 0) {
                host = std::make_unique<Host>(HostOptions{
                    .extra = {}, .cache = {}, .ram_bytes = 2ULL << 30, .lowmem_bytes = 1ULL << 30});
                space = host->create_space(1);
            }
            if (fs::exists(folders[i] / "model.onnx"))
                run_case(*host, space, folders[i], totals);
        }
        std::cout << suite << ": passed " << totals.passed << ", failed " << totals.failed
                  << ", unsupported " << totals.unsupported << "\n";
        if (suite != "node") {
            EXPECT_EQ(totals.failed, 0) << suite;
        }
    }
}

} // namespace
} // namespace ai0::test

// NOLINTEND(concurrency-mt-unsafe)
