# Target sluice::fio_headers: what compiles against fio's headers as fio's own build does.
#
# The tree is -DFIO_SOURCE_DIR= (or that variable in the environment), else
# build/fio-source/current, which ci/fio-source makes. It must be the source, configured, of
# exactly the fio that will load the plugin: fio's structures move between releases.
#
# Sets   SLUICE_FIO              the fio program, for tests
#        SLUICE_FIO_RELEASE      "fio-3.33": also a compile definition of the target
#        SLUICE_FIO_ENGINE_DIR   where that fio looks for engines by name; empty: it does not
# Gives  sluice_install_plugin(TARGET)

set(_fio_default ${PROJECT_SOURCE_DIR}/build/fio-source/current)
if(NOT "$ENV{FIO_SOURCE_DIR}" STREQUAL "")
  set(_fio_default $ENV{FIO_SOURCE_DIR})
endif()
set(FIO_SOURCE_DIR ${_fio_default} CACHE PATH "Configured source tree of the fio in use")

if(NOT EXISTS ${FIO_SOURCE_DIR}/ioengines.h OR NOT EXISTS ${FIO_SOURCE_DIR}/config-host.h)
  message(FATAL_ERROR "No configured fio source tree in ${FIO_SOURCE_DIR}. Run ci/fio-source "
    "(it fetches that of the installed fio), or use -DFIO_SOURCE_DIR=.")
endif()
# Past the link `current`: when it moves to another release, everything compiles anew.
file(REAL_PATH ${FIO_SOURCE_DIR} _fio_tree)

# The release string is made by fio's own script: it knows tarballs and git trees.
if(NOT EXISTS ${_fio_tree}/FIO-VERSION-FILE)
  execute_process(COMMAND sh ./FIO-VERSION-GEN WORKING_DIRECTORY ${_fio_tree} ERROR_QUIET)
endif()
set(SLUICE_FIO_RELEASE "")
if(EXISTS ${_fio_tree}/FIO-VERSION-FILE)
  file(STRINGS ${_fio_tree}/FIO-VERSION-FILE _line REGEX "^FIO_VERSION = ")
  string(REGEX REPLACE "^FIO_VERSION = " "" SLUICE_FIO_RELEASE "${_line}")
endif()
if(NOT SLUICE_FIO_RELEASE)
  message(FATAL_ERROR "Cannot tell the release of ${_fio_tree}: "
    "run 'make FIO-VERSION-FILE' there.")
endif()
message(STATUS "fio: ${SLUICE_FIO_RELEASE} in ${_fio_tree}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${FIO_SOURCE_DIR}/config-host.h ${FIO_SOURCE_DIR}/FIO-VERSION-FILE)

find_program(SLUICE_FIO fio DOC "The fio that runs the tests")
if(SLUICE_FIO)
  execute_process(COMMAND ${SLUICE_FIO} --version OUTPUT_VARIABLE _installed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT _installed STREQUAL SLUICE_FIO_RELEASE)
    message(WARNING "${SLUICE_FIO} is ${_installed}, the source tree ${SLUICE_FIO_RELEASE}: "
      "that fio will refuse the plugin. Run ci/fio-source, or use -DFIO_SOURCE_DIR=.")
  endif()
endif()

file(STRINGS ${_fio_tree}/config-host.h _fio_config REGEX "^#define CONFIG_")

add_library(sluice_fio_headers INTERFACE)
add_library(sluice::fio_headers ALIAS sluice_fio_headers)
target_include_directories(sluice_fio_headers SYSTEM INTERFACE ${_fio_tree})
# As in fio's Makefile. Its -ffast-math and -march=native concern its own code, not the layout.
target_compile_options(sluice_fio_headers INTERFACE
  "SHELL:-include ${_fio_tree}/config-host.h"
  $<$<COMPILE_LANGUAGE:C>:-std=gnu11>)
target_compile_definitions(sluice_fio_headers INTERFACE
  _GNU_SOURCE _LARGEFILE_SOURCE _FILE_OFFSET_BITS=64 FIO_INTERNAL FIO_INC_DEBUG
  "FIO_VERSION=\"${SLUICE_FIO_RELEASE}\""
  "SLUICE_FIO_RELEASE=\"${SLUICE_FIO_RELEASE}\"")
if("#define CONFIG_64BIT" IN_LIST _fio_config)
  target_compile_definitions(sluice_fio_headers INTERFACE BITS_PER_LONG=64)
else()
  target_compile_definitions(sluice_fio_headers INTERFACE BITS_PER_LONG=32)
endif()

# Only an fio that was built with --dynamic-libengines looks for ioengine=NAME in a folder. The
# installed program is the better witness: its format string of FOLDER/fio-NAME.so.
set(_fio_searches FALSE)
set(_fio_engine_dir "")
if(SLUICE_FIO)
  file(STRINGS ${SLUICE_FIO} _formats REGEX "fio-%s\\.so$")
  if(_formats)
    set(_fio_searches TRUE)
    file(STRINGS ${SLUICE_FIO} _folders REGEX "^/[^ %:]*/lib[^ %:]*/fio$")
    if(_folders)
      list(GET _folders 0 _fio_engine_dir)
    endif()
  endif()
elseif("#define CONFIG_DYNAMIC_ENGINES" IN_LIST _fio_config)
  set(_fio_searches TRUE)
endif()
if(_fio_searches AND NOT _fio_engine_dir)
  file(STRINGS ${_fio_tree}/os/os-linux.h _line REGEX "^#define[ \t]+FIO_EXT_ENG_DIR")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" _fio_engine_dir "${_line}")
endif()
set(SLUICE_FIO_ENGINE_DIR "${_fio_engine_dir}" CACHE PATH
  "Folder where fio looks for ioengine=NAME; empty: this fio does not")

# sluice_install_plugin(TARGET): `cmake --install` puts TARGET's library where fio finds it by
# name, if this fio does that; else in lib/sluice, to be named by its path.
function(sluice_install_plugin target)
  if(SLUICE_FIO_ENGINE_DIR)
    message(STATUS "install: ${SLUICE_FIO_ENGINE_DIR}/fio-sluice.so, for ioengine=sluice")
    install(PROGRAMS $<TARGET_FILE:${target}>
      DESTINATION ${SLUICE_FIO_ENGINE_DIR} RENAME fio-sluice.so)
  else()
    message(STATUS "install: lib/sluice/sluice.so, for ioengine=external:PATH "
      "(this fio was built without --dynamic-libengines: it finds no engine by name)")
    install(PROGRAMS $<TARGET_FILE:${target}> DESTINATION lib/sluice RENAME sluice.so)
  endif()
endfunction()
