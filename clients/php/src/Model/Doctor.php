<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The result of the last `sandlotctl doctor` or `sandlotctl check`. */
final class Doctor
{
    /** @param DoctorReport|null $report Null: no examination has run yet. */
    public function __construct(
        public readonly ?\DateTimeImmutable $madeAt,
        public readonly ?DoctorReport $report,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            madeAt: $fields->timeOrNull('made_at'),
            report: $fields->objectOrNull('report', DoctorReport::read(...)),
        );
    }
}
