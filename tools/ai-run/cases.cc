/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "compare.h"
#include "pb_file.h"

namespace ai_run {

namespace fs = std::filesystem;

namespace {

constexpr const char* kModelFile = "model.onnx";

/* Folders inside @folder whose names begin with @prefix, by name. */
std::vector<fs::path> folders_in(const fs::path& folder, const std::string& prefix)
{
    std::vector<fs::path> found;
    std::error_code ignored;

    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
        if (entry.is_directory() && entry.path().filename().string().starts_with(prefix))
            found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
}

/* input_0.pb, input_1.pb and so on, or the same with output. */
ai::Result<std::vector<HostTensor>> read_tensors(const fs::path& set, const std::string& what)
{
    std::vector<HostTensor> tensors;

    for (;;) {
        fs::path file = set / (what + "_" + std::to_string(tensors.size()) + ".pb");
        if (!fs::exists(file))
            return tensors;
        ai::Result<HostTensor> tensor = read_pb(file);
        /* Whatever is wrong with a file, it is not the engine that refuses. */
        if (!tensor)
            return ai::Error{EINVAL, tensor.error().message};
        tensors.push_back(std::move(*tensor));
    }
}

/*
 * File i belongs to input i of the graph, which counts inputs that have
 * initialisers; the engine may not.
 */
ai::Result<std::vector<HostTensor>> arranged(std::vector<HostTensor> files, const GraphNames& graph,
                                             const Engine::Model& model)
{
    std::vector<HostTensor> inputs(model.input_count());
    std::vector<bool> given(inputs.size());

    for (std::size_t i = 0; i < files.size(); i++) {
        std::optional<std::size_t> index;
        if (i < graph.inputs.size())
            index = model.input_index(graph.inputs[i]);
        if (!index)
            return ai::Error{EINVAL, "input_" + std::to_string(i) +
                                         ".pb belongs to no input that the engine takes"};
        inputs[*index] = std::move(files[i]);
        given[*index] = true;
    }
    if (std::ranges::find(given, false) != given.end())
        return ai::Error{EINVAL, "there are " + std::to_string(files.size()) +
                                     " input files, the model takes " +
                                     std::to_string(inputs.size())};
    return inputs;
}

ai::Result<void> run_set(Engine::Model& model, const GraphNames& graph, const fs::path& set,
                         ai::Record& record)
{
    ai::Result<std::vector<HostTensor>> expected = read_tensors(set, "output");
    if (!expected)
        return std::move(expected).error();
    ai::Result<std::vector<HostTensor>> inputs =
        read_tensors(set, "input").and_then([&](std::vector<HostTensor>&& files) {
            return arranged(std::move(files), graph, model);
        });
    if (!inputs)
        return std::move(inputs).error();

    ai::Result<std::vector<HostTensor>> outputs = model.run(*inputs, record);
    if (!outputs)
        return std::move(outputs).error();
    if (outputs->size() != expected->size())
        return ai::Error{EINVAL, "there are " + std::to_string(outputs->size()) + " outputs, " +
                                     std::to_string(expected->size()) + " were expected"};
    for (std::size_t i = 0; i < outputs->size(); i++)
        if (auto why = difference((*expected)[i], (*outputs)[i]))
            return ai::Error{EINVAL, "output " + std::to_string(i) + ": " + *why};
    return {};
}

ai::Result<void> run_sets(Engine& engine, const fs::path& folder, std::vector<ai::Record>& records)
{
    ai::Result<GraphNames> graph = read_graph_names(folder / kModelFile);
    if (!graph)
        return std::move(graph).error();
    ai::Result<std::unique_ptr<Engine::Model>> model = engine.load(folder / kModelFile);
    if (!model)
        return std::move(model).error();

    std::vector<fs::path> sets = folders_in(folder, "test_data_set");
    if (sets.empty())
        return ai::Error{ENOENT, "there is no test_data_set_* in " + folder.string()};
    for (const fs::path& set : sets) {
        ai::Result<void> result = run_set(**model, *graph, set, records.emplace_back());
        if (!result)
            return result.transform_error([&](const ai::Error& error) {
                return ai::Error{error.code, set.filename().string() + ": " + error.message};
            });
    }
    return {};
}

/* Engines put line ends into their sentences. */
std::string one_line(std::string text)
{
    std::ranges::replace(text, '\n', ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

} // namespace

const char* to_string(Verdict verdict)
{
    switch (verdict) {
    case Verdict::kPassed:
        return "passed";
    case Verdict::kFailed:
        return "failed";
    case Verdict::kUnsupported:
        return "unsupported";
    }
    return "unknown";
}

ai::Result<std::vector<std::string>> find_cases(const std::vector<std::string>& folders)
{
    std::vector<std::string> cases;

    for (const std::string& folder : folders) {
        if (fs::exists(fs::path(folder) / kModelFile)) {
            cases.push_back(folder);
            continue;
        }
        std::size_t before = cases.size();
        for (const fs::path& inner : folders_in(folder, ""))
            if (fs::exists(inner / kModelFile))
                cases.push_back(inner);
        if (cases.size() == before)
            return ai::Error{ENOENT, folder + " has no model.onnx, neither itself nor in a folder "
                                              "inside: name a case of the ONNX backend suite"};
    }
    return cases;
}

CaseResult run_case(Engine& engine, const std::string& folder)
{
    fs::path path = fs::path(folder).lexically_normal();
    CaseResult result;

    result.name = path.has_filename() ? path.filename() : path.parent_path().filename();
    ai::Result<void> outcome = run_sets(engine, path, result.records);
    if (outcome) {
        result.verdict = Verdict::kPassed;
    } else {
        result.verdict =
            outcome.error().code == EOPNOTSUPP ? Verdict::kUnsupported : Verdict::kFailed;
        result.reason = one_line(outcome.error().message);
    }
    return result;
}

} // namespace ai_run
