<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

use Sandlot\Command\CommandResult;

/** CommandResult::orFail() found an exit code other than 0, or output over 1 MiB. */
final class CommandFailedException extends \RuntimeException implements SandlotException
{
    /** Characters of stderr in the message. */
    private const SHOWN = 500;

    public function __construct(public readonly CommandResult $result)
    {
        $how = match (true) {
            $result->timedOut => 'ran into its time limit',
            $result->exitCode === 0 => 'wrote more than 1 MiB, and the result has the first only; use a callback',
            $result->signal !== null => "was ended by {$result->signal}",
            default => "exited with {$result->exitCode}",
        };
        $said = trim(substr($result->stderr, -self::SHOWN));
        parent::__construct("The command {$how}" . ($said === '' ? '.' : ": {$said}"), $result->exitCode);
    }
}
