<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Generator;

/** The text of an enumeration. */
final class EnumText
{
    /**
     * @param list<string> $values
     * @param string $description of the whole
     * @param bool $isOpen whether answers may have values that are newer than the document
     */
    public static function of(string $name, array $values, string $description, bool $isOpen): string
    {
        $lines = array_map(self::line(...), $values);
        if ($isOpen) {
            $lines[] = '';
            $lines[] = '    /** A value that is newer than this package. */';
            $lines[] = self::line('unknown');
        }
        $head = ClassText::head('Sandlot\\Model', $description);
        return "{$head}enum {$name}: string\n{\n" . implode("\n", $lines) . "\n}\n";
    }

    private static function line(string $value): string
    {
        return '    case ' . Names::studly($value) . " = '{$value}';";
    }
}
