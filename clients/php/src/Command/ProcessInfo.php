<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Command;

use Sandlot\Model\Fields;

/** A process that was started through the service and runs. */
final class ProcessInfo
{
    /** @param list<string> $arguments */
    public function __construct(
        public readonly int $pid,
        public readonly string $program,
        public readonly array $arguments,
        public readonly ?string $tag,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        $config = $fields->fields('config');
        return new self(
            $fields->int('pid'),
            $config?->string('cmd') ?? '',
            $config?->stringsOrNull('args') ?? [],
            $fields->stringOrNull('tag'),
        );
    }
}
