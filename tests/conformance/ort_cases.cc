/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ort-cases FOLDER...: what `ai-run --case FOLDER...` prints, of ONNX Runtime on this
 * machine without /dev/ai0. Tells which models ONNX Runtime itself refuses.
 */
#include <cstdio>
#include <exception>

#include "cases.h"
#include "ort_engine.h"

int main(int argc, char** argv)
try {
    auto cases = ai_run::find_cases({argv + 1, argv + argc}).or_throw();
    std::size_t counts[3] = {};
    OrtEngine engine;

    for (const std::string& folder : cases) {
        ai_run::CaseResult result = ai_run::run_case(engine, folder);
        counts[static_cast<std::size_t>(result.verdict)]++;
        std::printf("%s: %s%s%s\n", result.name.c_str(), ai_run::to_string(result.verdict),
                    result.reason.empty() ? "" : ": ", result.reason.c_str());
    }
    std::printf("%zu passed, %zu failed, %zu unsupported\n", counts[0], counts[1], counts[2]);
    return counts[1] ? 1 : 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "ort-cases: %s\n", error.what());
    return 2;
}
