<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The limits of one sandbox that do not depend on the plan. */
final class SandboxBounds
{
    /**
     * @param int $processes Processes and threads together.
     * @param int $openFiles File descriptors of one process.
     * @param int $argumentBytes Of one argument or variable of a program. A longer line for a shell is handed over
     *   by a file descriptor.
     * @param int $commandBytes Of a request that starts a command, as JSON.
     * @param int $environmentBytes Of all variables of a program.
     * @param int $outputBytes Of stdout and of stderr in an answer of POST /exec. A stream has no such bound.
     * @param int $listedFiles Entries of one listing of a directory.
     */
    public function __construct(
        public readonly int $processes,
        public readonly int $openFiles,
        public readonly int $argumentBytes,
        public readonly int $commandBytes,
        public readonly int $environmentBytes,
        public readonly int $outputBytes,
        public readonly int $listedFiles,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            processes: $fields->int('processes'),
            openFiles: $fields->int('open_files'),
            argumentBytes: $fields->int('argument_bytes'),
            commandBytes: $fields->int('command_bytes'),
            environmentBytes: $fields->int('environment_bytes'),
            outputBytes: $fields->int('output_bytes'),
            listedFiles: $fields->int('listed_files'),
        );
    }
}
