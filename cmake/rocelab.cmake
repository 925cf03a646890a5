# rl_library(NAME sources... DEPENDS targets...): a static, position-independent library; one per folder.
function(rl_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
endfunction()

# rl_test(NAME sources... LABEL unit|wire|pair|snapshot|same|fuzz DEPENDS targets...): a GoogleTest program registered with CTest under a label.
function(rl_test name)
  cmake_parse_arguments(ARG "" "LABEL" "DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gtest_main Threads::Threads)
  target_compile_definitions(${name} PRIVATE ROCELAB_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 600)
endfunction()
