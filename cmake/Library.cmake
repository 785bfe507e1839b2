# sluice_library(NAME SOURCES ... [TESTS ...] [LINKS ...] [LABELS ...])
#
# One static library per folder. What it may include is what it links: the link graph is the
# architecture (scheduler/README.md). Tests stand beside the code and get the label `unit`, plus
# whatever LABELS says (`stack` = also run under ThreadSanitizer).
function(sluice_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;TESTS;LINKS;TEST_LINKS;LABELS" ${ARGN})
  add_library(sluice_${NAME} STATIC ${ARG_SOURCES})
  add_library(sluice::${NAME} ALIAS sluice_${NAME})
  target_include_directories(sluice_${NAME} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(sluice_${NAME} PUBLIC sluice::options ${ARG_LINKS})
  set_target_properties(sluice_${NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON
                                                  CXX_VISIBILITY_PRESET hidden
                                                  VISIBILITY_INLINES_HIDDEN ON)
  if(SLUICE_TESTS AND ARG_TESTS)
    sluice_test(${NAME} SOURCES ${ARG_TESTS} LINKS sluice_${NAME} ${ARG_TEST_LINKS}
                LABELS ${ARG_LABELS})
  endif()
endfunction()

# sluice_test(NAME SOURCES ... [LINKS ...] [LABELS ...])
#
# A test program NAME_test beside that of its library: for code that is no library, and for tests
# that would disturb others in one program.
function(sluice_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${NAME}_test ${ARG_SOURCES})
  target_link_libraries(${NAME}_test PRIVATE ${ARG_LINKS} GTest::gtest_main)
  # One word such as unit-stack: discovery would take a list apart, and `ctest -L stack` finds it.
  string(JOIN "-" labels unit ${ARG_LABELS})
  # Without NO_PRETTY_VALUES a parameter's bytes, addresses included, are part of a test's name.
  gtest_discover_tests(${NAME}_test TEST_PREFIX "${NAME}." DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
                       PROPERTIES LABELS ${labels} TIMEOUT 120)
endfunction()
