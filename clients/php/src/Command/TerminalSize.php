<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Command;

final class TerminalSize
{
    public function __construct(public readonly int $columns = 80, public readonly int $rows = 24)
    {
    }

    /** @return array<string, mixed> as the protocol has it */
    public function message(): array
    {
        return ['size' => ['cols' => $this->columns, 'rows' => $this->rows]];
    }
}
