<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * `container`: with the host's kernel, behind the filters of a container. `vm`: a virtual machine with a kernel
 * of its own. The template decides it.
 */
enum Isolation: string
{
    case Container = 'container';
    case Vm = 'vm';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
