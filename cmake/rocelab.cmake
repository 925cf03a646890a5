# rl_header: what most libraries include, compiled once; rl_test_header: the same of tests. Not with a compiler launcher: ccache keeps objects made with
# such a header only where CCACHE_SLOPPINESS has pch_defines,time_macros (needed, too, where ccache stands in for the compiler in PATH), and gains nothing
# from it. A source that forgets an include fails there, and in the tsan preset.
if(ROCELAB_HEADER AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/header.cc CONTENT "")
  add_library(rl_header OBJECT ${CMAKE_BINARY_DIR}/header.cc)
  target_precompile_headers(rl_header PRIVATE <algorithm> <array> <cstdint> <cstring> <map> <memory> <optional> <span> <stdexcept> <string> <string_view>
                            <utility> <vector>)
endif()

# rl_library(NAME sources... DEPENDS targets...): a static, position-independent library; one per folder.
function(rl_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  if(TARGET rl_header)
    target_precompile_headers(${name} REUSE_FROM rl_header)
  endif()
endfunction()

if(ROCELAB_QUICK_TESTS AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_header.cc CONTENT "")
  add_library(rl_test_header OBJECT ${CMAKE_BINARY_DIR}/test_header.cc)
  set_target_properties(rl_test_header PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(rl_test_header PRIVATE -Og ${CMAKE_CXX_COMPILE_OPTIONS_PIE})  # as a program has them
  target_link_libraries(rl_test_header PRIVATE GTest::gtest)
  target_precompile_headers(rl_test_header PRIVATE <gtest/gtest.h> <algorithm> <array> <cstdint> <cstring> <deque> <map> <memory> <optional> <set> <span> <stdexcept>
                            <string> <vector>)
endif()

# rl_googletest(NAME): the program NAME is made of GoogleTest's tests, by themselves (rl_test) or as a program under test.
function(rl_googletest name)
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gtest_main Threads::Threads)
  if(ROCELAB_QUICK_TESTS)  # -O0 compiles little faster, and tests run 1.6 times as long: they share inline functions with the libraries
    target_compile_options(${name} PRIVATE -Og)
  endif()
  if(TARGET rl_test_header)
    target_precompile_headers(${name} REUSE_FROM rl_test_header)
  endif()
endfunction()

# rl_join_tests(NAME): the tests of the program NAME are compiled by up to eight sources at once, where rl_test_header exists: headers are read, and what
# they hold is compiled, once for all of them. That takes less than half of the time. What is not named *_test.cc or *_probe.cc is compiled as it is.
function(rl_join_tests name)
  get_target_property(sources ${name} SOURCES)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_(test|probe)\\.cc$")
  list(LENGTH tests count)
  if(NOT TARGET rl_test_header OR count LESS 2)
    return()
  endif()
  list(REMOVE_ITEM sources ${tests})
  list(TRANSFORM tests PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
  math(EXPR parts "(${count} + 7) / 8")
  foreach(part RANGE 1 ${parts})
    math(EXPR first "${count} * (${part} - 1) / ${parts}")
    math(EXPR length "${count} * ${part} / ${parts} - ${first}")
    list(SUBLIST tests ${first} ${length} joined)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${name}_${part}.cc)
    add_custom_command(OUTPUT ${file} COMMAND awk -f ${PROJECT_SOURCE_DIR}/cmake/join_tests.awk ${joined} > ${file}
                       DEPENDS ${joined} ${PROJECT_SOURCE_DIR}/cmake/join_tests.awk)
    list(APPEND sources ${file})
  endforeach()
  set_target_properties(${name} PROPERTIES SOURCES "${sources}")
endfunction()

# rl_test(NAME sources... LABEL unit|wire|pair|snapshot|same|fuzz DEPENDS targets...): a GoogleTest program registered with CTest under a label.
function(rl_test name)
  cmake_parse_arguments(ARG "" "LABEL" "DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  if(NOT ROCELAB_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  rl_googletest(${name})
  rl_join_tests(${name})
  target_compile_definitions(${name} PRIVATE ROCELAB_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 1200)
endfunction()

# rl_benchmark(NAME sources... [BUILT_ALWAYS] DEPENDS targets...): a Google Benchmark program, no test; without BUILT_ALWAYS built on demand.
function(rl_benchmark name)
  find_package(benchmark QUIET)
  if(NOT benchmark_FOUND)
    return()
  endif()
  cmake_parse_arguments(ARG "BUILT_ALWAYS" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  if(NOT ARG_BUILT_ALWAYS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} benchmark::benchmark)
endfunction()

# rl_fuzzer(NAME sources... DEPENDS targets...): a libFuzzer program. It exists in the fuzz preset only, as build/fuzz/fuzzers/NAME, and belongs to
# the target `fuzzers`; tests/corpora/NAME/, when there is one, holds its seeds.
function(rl_fuzzer name)
  if(NOT ROCELAB_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} Threads::Threads)
  target_compile_definitions(${name} PRIVATE ROCELAB_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
  add_dependencies(fuzzers ${name})
endfunction()
