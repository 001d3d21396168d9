<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Generator;

/** Value classes, enumerations and exceptions from the API's document. */
final class Generator
{
    private const REFERENCE = '#/components/schemas/';

    /** @var array<string, true> names of schemas that are in requests */
    private array $written = [];

    /** @var array<string, true> those that are in answers */
    private array $read = [];

    /** @var array<string, string> the enumerations' names by their values */
    private array $enums = [];

    /** @var array<string, string> texts by path */
    private array $files = [];

    /** @param array<string, mixed> $document */
    public function __construct(private readonly array $document)
    {
    }

    /** @return array<string, string|null> what differs below that folder, and how it should be; null: not at all */
    public function compare(string $folder): array
    {
        $wanted = [];
        foreach ($this->files() as $path => $text) {
            $wanted["{$folder}/{$path}"] = $text;
        }
        foreach (glob("{$folder}/{Model,Exception/Api}/*.php", GLOB_BRACE) ?: [] as $path) {
            if (!isset($wanted[$path]) && str_contains(file_get_contents($path), ClassText::MARK)) {
                $wanted[$path] = null;
            }
        }
        return array_filter(
            $wanted,
            static fn (?string $text, string $path): bool => !is_file($path) || file_get_contents($path) !== $text,
            ARRAY_FILTER_USE_BOTH,
        );
    }

    /** @return array<string, string> */
    private function files(): array
    {
        foreach ($this->operations() as $operation) {
            $this->mark($operation['requestBody'] ?? [], $this->written);
            foreach ($operation['responses'] as $status => $response) {
                if ((string) $status < '300') {
                    $this->mark($response, $this->read);
                }
            }
        }
        foreach ($this->schemas() as $name => $schema) {
            if (isset($schema['enum'])) {
                $this->enum($name, $schema, true);
            }
        }
        // What is in answers comes first: an enumeration that both use may grow there.
        foreach ([true, false] as $isRead) {
            foreach ($this->schemas() as $name => $schema) {
                if (($schema['type'] ?? null) === 'object' && isset($this->read[$name]) === $isRead) {
                    self::isPage($schema)
                        ? $this->rows($name, $schema)
                        : $this->object($name, $schema, $isRead, isset($this->written[$name]));
                }
            }
        }
        $this->filters();
        $this->errors();
        $this->operationNames();
        return $this->files;
    }

    /** @return array<string, array<string, mixed>> */
    private function schemas(): array
    {
        return $this->document['components']['schemas'];
    }

    /** @return iterable<string, array<string, mixed>> by method and path */
    private function operations(): iterable
    {
        foreach ($this->document['paths'] as $path => $methods) {
            foreach ($methods as $method => $operation) {
                if (isset($operation['operationId'])) {
                    yield strtoupper($method) . " {$path}" => $operation;
                }
            }
        }
    }

    /**
     * Marks what a part of the document refers to, and what that refers to.
     *
     * @param array<mixed> $part
     * @param array<string, true> $marked
     */
    private function mark(array $part, array &$marked): void
    {
        $name = self::referred($part);
        if ($name !== null && !isset($marked[$name])) {
            $marked[$name] = true;
            $this->mark($this->schemas()[$name], $marked);
        }
        foreach ($part as $below) {
            if (is_array($below)) {
                $this->mark($below, $marked);
            }
        }
    }

    /**
     * Of a page only the rows become a class.
     *
     * @param array<string, mixed> $schema
     */
    private function rows(string $name, array $schema): void
    {
        foreach ($schema['properties'] ?? [] as $member => $of) {
            if (isset($of['items']['properties'])) {
                $this->object(Names::type($name, $member), $of['items'], true, false);
            }
        }
    }

    /** @param array<string, mixed> $schema */
    private function object(string $name, array $schema, bool $isRead, bool $isWritten): void
    {
        if (!$isRead && !$isWritten) {
            return;
        }
        $object = new Schema($name, $schema, $isRead, $isWritten);
        $types = [];
        foreach ($object->members() as $member => $of) {
            $types[$member] = $this->type($object, $member, $of);
        }
        $this->files["Model/{$name}.php"] = ClassText::of($object, $types);
    }

    /** @param array<string, mixed> $of */
    private function type(Schema $schema, string $member, array $of): Type
    {
        $referred = self::referred($of);
        if ($referred !== null) {
            $isEnum = isset($this->schemas()[$referred]['enum']);
            return new Type($referred, $referred, $isEnum ? 'enum' : 'object', $referred, $isEnum);
        }
        // An enumeration of PHP has texts, and numbers stay numbers.
        if (isset($of['enum']) && array_filter($of['enum'], is_string(...)) !== []) {
            $name = $this->enum(Names::type($schema->name, $member), $of, $schema->isRead);
            return new Type($name, $name, 'enum', $name, true);
        }
        $names = array_values(array_diff((array) ($of['type'] ?? []), ['null']));
        return match (count($names) === 1 ? $names[0] : '') {
            'string' => ($of['format'] ?? null) !== 'date-time' ? Type::plain('string') : self::time($schema),
            'integer' => Type::plain('int'),
            'number' => Type::plain('float'),
            'boolean' => Type::plain('bool'),
            'array' => Type::list($this->type($schema, $member, $of['items'])),
            'object' => isset($of['properties']) ? $this->inner($schema, $member, $of) : self::map($of),
            default => $schema->isRead
                ? throw new \LogicException("{$schema->name}.{$member} of an answer has no one type.")
                : Type::plain('mixed'),
        };
    }

    /** @param array<string, mixed> $of */
    private function inner(Schema $schema, string $member, array $of): Type
    {
        $name = Names::type($schema->name, $member);
        $this->object($name, $of, $schema->isRead, $schema->isWritten);
        return new Type($name, $name, 'object', $name);
    }

    private static function time(Schema $schema): Type
    {
        return $schema->isWritten
            ? new Type('\DateTimeInterface', '\DateTimeInterface', 'time', writer: 'time')
            : Type::plain('\DateTimeImmutable', 'time');
    }

    /** @param array<string, mixed> $of */
    private static function map(array $of): Type
    {
        $isOfText = ($of['additionalProperties']['type'] ?? null) === 'string';
        return $isOfText
            ? new Type('array', 'array<string, string>', 'map', writer: 'map')
            : new Type('array', 'array<string, mixed>', 'values', writer: 'map');
    }

    /**
     * The enumeration of these values, whatever it was called where it was met first.
     *
     * @param array<string, mixed> $of
     */
    private function enum(string $name, array $of, bool $isRead): string
    {
        $values = array_values(array_filter($of['enum'], is_string(...)));
        $key = json_encode($values);
        if (!isset($this->enums[$key])) {
            $this->enums[$key] = $name;
            $description = $isRead && isset($this->schemas()[$name]) ? $of['description'] ?? '' : '';
            $this->files["Model/{$name}.php"] = EnumText::of($name, $values, $description, $isRead);
        }
        return $this->enums[$key];
    }

    /** Enumerations of filters, which are parameters named query[MEMBER][]. */
    private function filters(): void
    {
        foreach ($this->operations() as $operation) {
            foreach ($operation['parameters'] ?? [] as $parameter) {
                $of = $parameter['schema']['items'] ?? [];
                if (isset($of['enum']) && preg_match('/^query\[(\w+)\]\[\]$/', $parameter['name'], $member)) {
                    $this->enum(Names::type(ucfirst($operation['operationId']), $member[1]), $of, false);
                }
            }
        }
    }

    private function errors(): void
    {
        foreach ($this->schemas()['ErrorCode']['enum'] as $code) {
            $name = Names::studly($code) . 'Exception';
            $this->files["Exception/Api/{$name}.php"] = ClassText::head('Sandlot\\Exception\\Api', '')
                . "use Sandlot\\Exception\\ApiException;\n\n/** The service refused with “{$code}”. */\n"
                . "final class {$name} extends ApiException\n{\n}\n";
        }
    }

    private function operationNames(): void
    {
        $lines = [];
        foreach ($this->operations() as $place => $operation) {
            $name = ucfirst($operation['operationId']);
            $lines[] = "    /** {$operation['summary']}. */\n    case {$name} = '{$place}';\n";
        }
        $this->files['Model/Operation.php'] = ClassText::head('Sandlot\\Model', 'The calls of the API.')
            . "enum Operation: string\n{\n" . implode("\n", $lines) . "}\n";
    }

    /**
     * Whether it is rows and where the next ones are: these are read a page at a time.
     *
     * @param array<string, mixed> $schema
     */
    private static function isPage(array $schema): bool
    {
        $members = array_diff_key($schema['properties'] ?? [], ['next_token' => true]);
        return count($members) <= 1 && ((reset($members) ?: ['type' => 'array'])['type'] ?? null) === 'array';
    }

    /** @param array<mixed> $part */
    private static function referred(array $part): ?string
    {
        $reference = $part['$ref'] ?? null;
        return is_string($reference) && str_starts_with($reference, self::REFERENCE)
            ? substr($reference, strlen(self::REFERENCE))
            : null;
    }
}
