<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class DoctorReportFindings
{
    public function __construct(
        public readonly string $check,
        public readonly DoctorReportFindingsState $state,
        public readonly string $message,
        public readonly ?string $advice,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            check: $fields->string('check'),
            state: $fields->enum('state', DoctorReportFindingsState::class),
            message: $fields->string('message'),
            advice: $fields->stringOrNull('advice'),
        );
    }
}
