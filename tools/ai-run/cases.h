/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases of the ONNX backend suite: a folder with model.onnx and test_data_set_*, of
 * which each has input_*.pb and output_*.pb.
 */
#pragma once

#include <string>
#include <vector>

#include "engine.h"

namespace ai_run {

enum class Verdict { kPassed, kFailed, kUnsupported };

/* "passed", "failed" or "unsupported". */
const char* to_string(Verdict verdict);

struct CaseResult {
    std::string name; /* of the folder */
    Verdict verdict = Verdict::kFailed;
    std::string reason;              /* why it did not pass */
    std::vector<ai::Record> records; /* one for each data set that ran */
};

/*
 * The cases that the folders name: each is a case, or a folder of cases. ENOENT when
 * there are none in one of them.
 */
ai::Result<std::vector<std::string>> find_cases(const std::vector<std::string>& folders);

/*
 * Passed if all outputs of all data sets are within the suite's tolerance.
 * Unsupported only when the engine itself refuses the model.
 */
CaseResult run_case(Engine& engine, const std::string& folder);

} // namespace ai_run
