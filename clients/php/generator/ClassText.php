<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Generator;

/** The text of a value class. */
final class ClassText
{
    private const WIDTH = 110;

    /** The line by which bin/generate knows its own files. */
    public const MARK = '// Made by bin/generate from the API\'s document.';

    public static function head(string $namespace, string $description): string
    {
        $text = "<?php\n\n// SPDX-License-Identifier: GPL-2.0-or-later\n" . self::MARK
            . "\n\ndeclare(strict_types=1);\n\nnamespace {$namespace};\n\n";
        return $text . ($description === '' ? '' : self::comment(self::wrap($description), ''));
    }

    /** @param array<string, Type> $types by the member's name */
    public static function of(Schema $schema, array $types): string
    {
        $text = self::head('Sandlot\\Model', $schema->schema['description'] ?? '')
            . "final class {$schema->name}" . ($schema->isWritten ? ' implements \JsonSerializable' : '') . "\n{\n"
            . self::constructor($schema, $types);
        if ($schema->isRead) {
            $text .= "\n" . self::reader($schema, $types);
        }
        if ($schema->isWritten) {
            $text .= "\n" . self::writer($schema, $types);
        }
        return $text . "}\n";
    }

    /** @param array<string, Type> $types */
    private static function constructor(Schema $schema, array $types): string
    {
        $documented = $parameters = [];
        foreach ($schema->members() as $name => $member) {
            $type = $types[$name];
            $mayBeNull = $schema->mayBeNull($name);
            $documented[] = self::parameterNote($name, $type, $mayBeNull, $member['description'] ?? '');
            $default = $schema->isRequired($name) || !$schema->isWritten ? '' : ' = null';
            $declared = match (true) {
                !$mayBeNull, $type->declared === 'mixed' => $type->declared,
                $schema->sendsNull($name) && !$schema->isRequired($name) => "{$type->declared}|Explicit|null",
                default => "?{$type->declared}",
            };
            $variable = '$' . Names::member($name);
            $parameters[] = "        public readonly {$declared} {$variable}{$default},\n";
        }
        $notes = array_merge(...$documented ?: [[]]);
        return ($notes === [] ? '' : self::comment($notes, '    '))
            . "    public function __construct(\n" . implode('', $parameters) . "    ) {\n    }\n";
    }

    /** @return list<string> nothing when the signature says it all */
    private static function parameterNote(string $name, Type $type, bool $mayBeNull, string $description): array
    {
        if ($description === '' && $type->declared === $type->documented) {
            return [];
        }
        $documented = $type->documented . ($mayBeNull && $type->documented !== 'mixed' ? '|null' : '');
        return self::wrap(trim("@param {$documented} $" . Names::member($name) . " {$description}"), '  ');
    }

    /** @param array<string, Type> $types */
    private static function reader(Schema $schema, array $types): string
    {
        $lines = '';
        foreach (array_keys($schema->members()) as $name) {
            $read = $types[$name]->read($name, $schema->mayBeNull($name));
            $lines .= '            ' . Names::member($name) . ": {$read},\n";
        }
        return "    /** @internal */\n    public static function read(Fields \$fields): self\n    {\n"
            . "        return new self(\n{$lines}        );\n    }\n";
    }

    /** @param array<string, Type> $types */
    private static function writer(Schema $schema, array $types): string
    {
        $lines = '';
        foreach ($types as $name => $type) {
            $null = $schema->sendsNull($name) && $schema->isRequired($name) ? ' ?? Explicit::Null' : '';
            $lines .= "            '{$name}' => " . $type->write('$this->' . Names::member($name)) . "{$null},\n";
        }
        return "    public function jsonSerialize(): object\n    {\n"
            . "        return Members::of([\n{$lines}        ]);\n    }\n";
    }

    /** @return list<string> */
    private static function wrap(string $text, string $indent = ''): array
    {
        return explode("\n", wordwrap($text, self::WIDTH, "\n{$indent}"));
    }

    /** @param list<string> $lines */
    private static function comment(array $lines, string $indent): string
    {
        $lines = str_replace('*/', '*\\/', $lines);
        if (count($lines) === 1) {
            return "{$indent}/** {$lines[0]} */\n";
        }
        return "{$indent}/**\n{$indent} * " . implode("\n{$indent} * ", $lines) . "\n{$indent} */\n";
    }
}
